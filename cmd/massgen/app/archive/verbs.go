package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// CompleteVerbs returns the BashComplete of a command with verbs.
func CompleteVerbs(verbs []Verb) cli.BashCompleteFunc {
	return func(ctx *cli.Context) {
		words := ctx.Args().Slice()
		for _, v := range verbs {
			line := ""
			switch arguments := strings.TrimPrefix(v.Arguments, "["); {
			case len(words) == 0:
				line = v.Name + "\t" + v.About
			case words[0] != v.Name:
			case strings.HasSuffix(v.Arguments, "...") && strings.HasPrefix(arguments, SessionArgument), len(words) == 1 && strings.HasPrefix(arguments, SessionArgument):
				line = SessionArgument
			case len(words) == 1 && strings.HasPrefix(arguments, FileArgument), len(words) == 2 && strings.Contains(arguments, FileArgument):
				line = FileArgument
			}
			if line != "" {
				offer(ctx, line)
			}
		}
	}
}

// Command reads or changes the store of sessions. Its first word is a verb.
type Command struct {
	Name, About string
	Verbs       []Verb
	Flags       []cli.Flag
}

// Verb is one thing that such a command does.
type Verb struct {
	Name, Arguments, About string
	Alias                  string // another name, empty for none
	Least, Most            int    // how many arguments; a most of 0: any number
	// Flags are the flags of the command that the verb takes.
	Flags []string
	// Makes reports whether the verb creates a store that does not exist.
	Makes bool
	Run   func(ctx context.Context, store *store.Store, words []string) error
}

// NoArguments is the Most of a verb without arguments.
const NoArguments = -1

// CLI returns the command for the command line.
func (c Command) CLI(kept *Archive) *cli.Command {
	return &cli.Command{
		Name: c.Name, Usage: c.About, UsageText: c.Usage(), BashComplete: CompleteVerbs(c.Verbs),
		Flags: append(kept.CommandFlags(), c.Flags...),
		Action: func(ctx *cli.Context) error {
			v, words, err := c.Verb(ctx)
			if err != nil {
				return err
			}
			return kept.Run(ctx.Context, c.Name, v, words)
		},
	}
}

// CommandFlags returns the program's flags that these commands take too. A flag may stand before the
// command as well; a flag that is not given leaves its option alone.
func (s *Archive) CommandFlags() []cli.Flag {
	file := cmdline.TextFlag("", "session", &s.flags.ID, "the session kept in a `FILE` of its own, such as ./chat.db")
	file.Aliases = []string{"session-id"}
	return append([]cli.Flag{
		cmdline.TextFlag("", "state-dir", &s.flags.StateDir, "the sessions kept in `DIR`"), file,
		cmdline.SwitchFlag("", "trust", &s.flags.Trust, cmdline.TrustUsage),
		cmdline.SwitchFlag("", "json", &s.display.JSON, "print JSON, one value a line"),
	}, s.flags.DatabaseFlags(s.env.Cluster)...)
}

// Usage returns the verbs with their help.
func (c Command) Usage() string {
	var rows [][2]string
	for _, v := range c.Verbs {
		name := v.Name
		if v.Alias != "" {
			name += ", " + v.Alias
		}
		rows = append(rows, [2]string{strings.TrimSpace(name + " " + v.Arguments), v.About})
	}
	return fmt.Sprintf("massgen %s WORD ...\n\n", c.Name) + strings.TrimRight(wording.TwoColumns(rows), "\n")
}

// Verb returns the verb of a command line, and the words behind it. The error says which word or flag is
// wrong.
func (c Command) Verb(ctx *cli.Context) (v Verb, words []string, err error) {
	words = ctx.Args().Slice()
	if v, err = c.named(words); err != nil {
		return v, nil, err
	}
	return v, words[1:], c.check(ctx, v, words[1:])
}

func (c Command) named(words []string) (Verb, error) {
	var names []string
	for _, v := range c.Verbs {
		names = append(names, v.Name)
	}
	if len(words) == 0 {
		return Verb{}, fmt.Errorf("%s: a word is missing: it is one of %s, such as massgen %s list; a question that is this one word needs -- before it: massgen -- %s",
			c.Name, strings.Join(names, ", "), c.Name, c.Name)
	}
	if i := slices.IndexFunc(c.Verbs, func(v Verb) bool { return words[0] == v.Name || v.Alias != "" && words[0] == v.Alias }); i >= 0 {
		return c.Verbs[i], nil
	}
	said := wording.Shortened(words[0], 40)
	if near, ok := configs.Nearest(words[0], names); ok {
		return Verb{}, fmt.Errorf("%s: there is no %q: did you mean massgen %s %s?", c.Name, said, c.Name, near)
	}
	return Verb{}, fmt.Errorf("%s: there is no %q: it is one of %s", c.Name, said, strings.Join(names, ", "))
}

// check returns an error for a wrong number of arguments, and for a flag that the verb does not take.
func (c Command) check(ctx *cli.Context, v Verb, words []string) error {
	if len(words) < v.Least || v.Most != 0 && len(words) > max(v.Most, 0) {
		return fmt.Errorf("%s %s: its form is: %s", c.Name, v.Name, strings.TrimSpace(fmt.Sprintf("massgen %s %s %s", c.Name, v.Name, v.Arguments)))
	}
	for _, f := range append(c.Flags, &cli.BoolFlag{Name: "json"}) {
		if name := f.Names()[0]; ctx.IsSet(name) && !slices.Contains(v.Flags, name) {
			return fmt.Errorf("%s %s: --%s means nothing here: leave it out", c.Name, v.Name, name)
		}
	}
	return nil
}

// Run runs a verb on the store that the flags name.
func (s *Archive) Run(ctx context.Context, command string, v Verb, words []string) (err error) {
	where := strings.TrimSpace(command + " " + v.Name)
	if id := s.flags.ID; id != "" && !cmdline.IsPath(id) {
		return fmt.Errorf("%s: --session %s is no file: an id stands after the word, as in %s", where, wording.ShellWord(id), s.Command("sessions", "show", id))
	} else if _, err := os.Stat(id); errors.Is(err, fs.ErrNotExist) && id != "" && !v.Makes {
		return fmt.Errorf("%s: there is no file %s: --session %s with a question makes it", where, plain.Line(id), wording.ShellWord(id))
	}
	cmdline.HideKeys(s.env, s.console)
	open := s.OpenIfThere
	if v.Makes {
		open = s.Open
	}
	store, err := open(ctx, ToManage)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := v.Run(ctx, store, words); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// The arguments of a command that are no verbs.
const (
	SessionArgument = "ID"
	FileArgument    = "FILE"
)

// offer prints the arguments of a BashComplete.
func offer(ctx *cli.Context, arguments ...string) {
	for _, name := range arguments {
		_, _ = fmt.Fprintln(ctx.App.Writer, name) // the strings.Builder of completer.arguments takes all
	}
}

// CompleteFirst returns the BashComplete of a command whose first argument is one of these.
func CompleteFirst(arguments ...string) cli.BashCompleteFunc {
	return func(ctx *cli.Context) {
		if !ctx.Args().Present() {
			offer(ctx, arguments...)
		}
	}
}
