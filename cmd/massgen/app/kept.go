package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// keptCommand is a command that looks into the store of sessions, or changes it.
// Its first word says what to do.
type keptCommand struct {
	name, about string
	verbs       []verb
	flags       []cli.Flag
}

// verb is one thing that such a command does.
type verb struct {
	name, arguments, about string
	least, most            int // how many arguments; a most of 0: any number
	// flags are those of the command that mean something here.
	flags []string
	// makes says that a file of its own need not be there.
	makes bool
	run   func(ctx context.Context, store *store.Store, words []string) error
}

// noArguments is the most arguments of a verb that takes none.
const noArguments = -1

// cli describes the command to the command line.
func (c keptCommand) cli(kept *storage) *cli.Command {
	return &cli.Command{
		Name: c.name, Usage: c.about, UsageText: c.usage(), BashComplete: completeVerbs(c.verbs),
		Flags: append(kept.cliFlags(), c.flags...),
		Action: func(ctx *cli.Context) error {
			v, words, err := c.verb(ctx)
			if err != nil {
				return err
			}
			return kept.run(ctx.Context, c.name, v, words)
		},
	}
}

// keptFlags returns the program's flags that these commands take too. A flag may stand before
// the command as well; one that is not given leaves its option alone.
func (s *storage) cliFlags() []cli.Flag {
	file := textFlag("", "session", &s.flags.id, "the session kept in a `FILE` of its own, such as ./chat.db")
	file.Aliases = []string{"session-id"}
	return append([]cli.Flag{
		textFlag("", "state-dir", &s.flags.stateDir, "the sessions kept in `DIR`"), file,
		switchFlag("", "trust", &s.flags.trust, trustUsage),
		switchFlag("", "json", &s.display.json, "print JSON, one value a line"),
	}, s.flags.databaseFlag(s.env.Cluster)...)
}

func (c keptCommand) usage() string {
	var rows [][2]string
	for _, v := range c.verbs {
		rows = append(rows, [2]string{strings.TrimSpace(v.name + " " + v.arguments), v.about})
	}
	return fmt.Sprintf("massgen %s WORD ...\n\n", c.name) + strings.TrimRight(twoColumns(rows), "\n")
}

// verb returns what the first word names, with the words behind it. The error says what is wrong with
// the words and flags.
func (c keptCommand) verb(ctx *cli.Context) (v verb, words []string, err error) {
	words = ctx.Args().Slice()
	if v, err = c.named(words); err != nil {
		return v, nil, err
	}
	return v, words[1:], c.check(ctx, v, words[1:])
}

func (c keptCommand) named(words []string) (verb, error) {
	var names []string
	for _, v := range c.verbs {
		names = append(names, v.name)
	}
	if len(words) == 0 {
		return verb{}, fmt.Errorf("%s: a word is missing: it is one of %s, such as massgen %s list; a question that is this one word needs -- before it: massgen -- %s",
			c.name, strings.Join(names, ", "), c.name, c.name)
	}
	if i := slices.Index(names, words[0]); i >= 0 {
		return c.verbs[i], nil
	}
	said := shortened(words[0], 40)
	if near, ok := configs.Nearest(words[0], names); ok {
		return verb{}, fmt.Errorf("%s: there is no %q: did you mean massgen %s %s?", c.name, said, c.name, near)
	}
	return verb{}, fmt.Errorf("%s: there is no %q: it is one of %s", c.name, said, strings.Join(names, ", "))
}

// check says what is wrong with the arguments and flags of a verb.
func (c keptCommand) check(ctx *cli.Context, v verb, words []string) error {
	if len(words) < v.least || v.most != 0 && len(words) > max(v.most, 0) {
		return fmt.Errorf("%s %s: its form is: %s", c.name, v.name, strings.TrimSpace(fmt.Sprintf("massgen %s %s %s", c.name, v.name, v.arguments)))
	}
	for _, f := range append(c.flags, &cli.BoolFlag{Name: "json"}) {
		if name := f.Names()[0]; ctx.IsSet(name) && !slices.Contains(v.flags, name) {
			return fmt.Errorf("%s %s: --%s means nothing here: leave it out", c.name, v.name, name)
		}
	}
	return nil
}

// withStore runs a verb on the store that the options mean.
func (s *storage) run(ctx context.Context, command string, v verb, words []string) (err error) {
	where := strings.TrimSpace(command + " " + v.name)
	if id := s.flags.id; id != "" && !isPath(id) {
		return fmt.Errorf("%s: --session %s is no file: an id stands after the word, as in %s", where, shellWord(id), s.command("sessions", "show", id))
	} else if _, err := os.Stat(id); errors.Is(err, fs.ErrNotExist) && id != "" && !v.makes {
		return fmt.Errorf("%s: there is no file %s: --session %s with a question makes it", where, plain.Line(id), shellWord(id))
	}
	hideKeys(s.env, s.console)
	open := s.openIfThere
	if v.makes {
		open = s.open
	}
	store, err := open(ctx, toManage)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := v.run(ctx, store, words); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// moment shows a time to the minute, where the reader is.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// shellWord is an id as a person can type it into a shell.
func shellWord(id string) string {
	special := strings.IndexFunc(id, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:@/", r)
	})
	if special < 0 {
		return id
	}
	return "'" + strings.ReplaceAll(plain.Line(id), "'", `'\''`) + "'"
}
