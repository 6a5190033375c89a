package inputs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/internal/findings"
	"github.com/massgen/massgen/cmd/massgen/internal/picture"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// showCommand draws a turn as a timeline: on the screen, or into files.
type showCommand struct {
	env     *cmdline.Env
	console *cmdline.Console
	kept    *archive.Archive

	html, svg string
}

// Show returns the command show.
func Show(env *cmdline.Env, out *cmdline.Console, kept *archive.Archive) *cli.Command {
	c := &showCommand{env: env, console: out, kept: kept}
	flags := slices.DeleteFunc(c.kept.CommandFlags(), func(f cli.Flag) bool { return f.Names()[0] == "json" })
	return &cli.Command{
		Name: "show", Usage: "draw a turn: who called, answered and voted when",
		UsageText: "massgen show [SESSION] [TURN] ...\n\n" + wording.TwoColumns([][2]string{
			{"SESSION", "a turn of this session: TURN, or the last one; without SESSION, or with last, of the session that was used last"},
			{"FILE.jsonl", "the same of a file that sessions export wrote"},
			{"... --html FILE", "a page with all texts, votes and inputs, instead of the timeline on the screen"},
		}),
		Flags: append([]cli.Flag{
			cmdline.TextFlag("", "html", &c.html, "write one page, with the timeline and all texts to unfold: `FILE`; - is standard output"),
			cmdline.TextFlag("", "svg", &c.svg, "write the timeline as a picture: `FILE`; - is standard output"),
		}, flags...),
		BashComplete: archive.CompleteFirst(archive.SessionArgument, archive.FileArgument),
		Action: func(ctx *cli.Context) error {
			if c.kept.IsJSON() {
				return fmt.Errorf("show: --json means nothing here: %s has the turns as JSON", c.kept.Command("sessions", "show", "--json"))
			}
			return c.run(ctx.Context, ctx.Args().Slice())
		},
	}
}

func (c *showCommand) run(ctx context.Context, words []string) error {
	if c.html == archive.StandardStream && c.svg == archive.StandardStream {
		return errors.New("show: --html - and --svg - would write into each other: name a file for one of them")
	}
	from, others := "", words
	if len(words) > 0 {
		from, others = words[0], words[1:]
	}
	if archive.IsRecording(from) {
		cmdline.HideKeys(c.env, c.console)
		r, id, err := archive.ReadRecording(ctx, from)
		if err == nil {
			err = c.show(ctx, r, id, others)
		}
		if err != nil {
			return fmt.Errorf("show: %w", err)
		}
		return nil
	}
	return c.kept.Run(ctx, "show", archive.Verb{Name: plain.Line(from), Run: func(ctx context.Context, store *store.Store, _ []string) error {
		kept, rest, err := c.kept.Pick(ctx, store, words, 1)
		if err != nil {
			return err
		}
		return c.show(ctx, store.Sessions, kept.ID, rest)
	}}, nil)
}

// show draws the turn that words name, or the last one.
func (c *showCommand) show(ctx context.Context, r archive.Recording, id string, words []string) error {
	p, err := c.draw(ctx, r, id, words)
	if err != nil {
		return err
	}
	if c.svg != "" {
		if err := c.writeFile(c.svg, picture.SVG(p)); err != nil {
			return err
		}
	}
	if c.html != "" {
		page, err := picture.HTML(p)
		if err != nil {
			return err
		}
		if err := c.writeFile(c.html, page); err != nil {
			return err
		}
	}
	if c.svg != "" || c.html != "" {
		return nil
	}
	return c.console.Put(picture.Terminal(p, c.screen()) + c.decided(ctx, r, p))
}

// decided returns the lines about how the turn of a picture was decided, behind an empty line.
func (c *showCommand) decided(ctx context.Context, r archive.Recording, p picture.Picture) string {
	record, err := coordinator.ReadRecord(ctx, r, p.Session, p.Turn)
	if err != nil {
		c.console.Warn(err.Error())
	}
	var agents []string
	for _, l := range p.Lanes {
		agents = append(agents, l.Name)
	}
	var b strings.Builder
	for _, line := range findings.Turn(record.Decision, agents, c.screen().Colour) {
		b.WriteString("\n" + line)
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "\n"
}

// draw computes the picture of a turn. A damaged journal has the picture of what could be read,
// and a warning.
func (c *showCommand) draw(ctx context.Context, r archive.Recording, id string, words []string) (picture.Picture, error) {
	turns, err := r.Turns(ctx, id, 0)
	if err != nil {
		return picture.Picture{}, err
	}
	number, err := turnOf(words, len(turns))
	if err != nil {
		return picture.Picture{}, fmt.Errorf("session %s: %w", plain.Line(id), err)
	}
	journal, err := r.Journal(ctx, id, number, 0)
	if err != nil {
		return picture.Picture{}, err
	}
	if len(journal) == 0 {
		return picture.Picture{}, fmt.Errorf("turn %d has no journal here: it is of the session that this one was branched off", number)
	}
	source := picture.Source{Session: id, Turn: number, Texts: agents.LookupIn(ctx, r), Inputs: map[backends.Key]string{}}
	if c.html != "" {
		for _, call := range archive.CallsOf(ctx, r, id, turns[number-1:number], c.console.Warn) {
			var b strings.Builder
			if err := debugbackend.Print(&b, []debugbackend.Call{call}); err != nil {
				return picture.Picture{}, err
			}
			source.Inputs[call.Request.Key] = b.String()
		}
	}
	p, err := picture.New(journal, source)
	if err != nil && len(p.Lanes) == 0 {
		return p, err
	}
	if err != nil {
		c.console.Warn(err.Error())
	}
	return p, nil
}

// turnOf reads the number of a turn, which is the last one by default.
func turnOf(words []string, turns int) (int, error) {
	switch {
	case turns == 0:
		return 0, errors.New("it has no turn yet")
	case len(words) > 1:
		return 0, errors.New("too many words: the form is massgen show [SESSION] [TURN]")
	case len(words) == 0:
		return turns, nil
	}
	n, err := strconv.Atoi(words[0])
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no number of a turn: it has %s", wording.Shortened(plain.Line(words[0]), 40), plain.Count(turns, "turn"))
	case n < 1 || n > turns:
		return 0, fmt.Errorf("there is no turn %d: it has %s", n, plain.Count(turns, "turn"))
	}
	return n, nil
}

// writeFile writes a file that is not there yet, or standard output. It masks what has become a secret since the
// session was kept.
func (c *showCommand) writeFile(file, text string) error {
	return archive.PutFile(c.env, c.console, file, c.console.Secrets.Redact(text))
}

// screen describes standard output: 80 columns if it is no terminal and COLUMNS does not say
// otherwise.
func (c *showCommand) screen() picture.Screen {
	s := picture.Screen{Width: 80}
	if text, set := c.env.Lookup("COLUMNS"); set {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			s.Width = n
		}
	}
	if out, ok := c.env.Stdout.(*os.File); ok && cmdline.IsTerminal(out) {
		if width, height, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
			s.Width, s.Height = width, height
		}
		name, _ := c.env.Lookup("TERM")
		s.Colour = c.env.WantsColour() && name != "dumb"
	}
	return s
}
