// Package compare has the command compare, which measures how often members and strategies of a panel answer
// questions right, and at what price.
package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// flags are the command's own flags.
type flags struct {
	strategies, pattern, score, equal string
	samples, runs, limit, atOnce      int
	seed                              uint64
	maxUSD                            *float64
	yes, again                        bool
	out                               outputs
}

// outputs are the flags of what is written in place of the table, or beside it.
type outputs struct{ from, html, config, add, expected string }

// The limits of the flags.
const (
	mostRuns      = 1000
	mostQuestions = 1_000_000
	mostAtOnce    = 256
	atOnce        = 4
	someSamples   = 5
)

// Command returns the command compare.
func Command(p *program.Program) *cli.Command {
	f := &flags{samples: someSamples, runs: 1, seed: 1, atOnce: atOnce}
	return &cli.Command{
		Name: "compare", Usage: "measure members and strategies on questions with known answers",
		UsageText: "  massgen compare [--config FILE] QUESTIONS    ask, and print a table\n" +
			"  massgen compare --from DIR                   compute it again from journals\n" +
			"  massgen compare --add FILE SESSION [TURN]    add a turn's question to a file\n\n" +
			"QUESTIONS is JSONL or CSV with question and expected. The same command goes on\nwhere it was interrupted. docs/evidence.md explains the table.\n",
		Flags: append([]cli.Flag{
			cmdline.TextFlag("", "config", &p.Options.Panel.Config, "the panel: a YAML `FILE`, @examples/NAME or a shipped name"),
			cmdline.TextFlag("", "models", &p.Options.Panel.Models, "the panel: these models, `A,B,C`"),
			cmdline.TextFlag("", "strategies", &f.strategies, "compare `NAMES`: members, majority, samples, blind, consensus, judge, synthesize, cascade or presets"),
		}, f.flags(p)...),
		Action: func(ctx *cli.Context) error {
			return (&command{program: p, flags: f}).run(ctx.Context, ctx.Args().Slice())
		},
	}
}

func (f *flags) flags(p *program.Program) []cli.Flag {
	return []cli.Flag{
		count("samples", &f.samples, mostSamples, "with the strategy samples: ask each member `N` times (5)"),
		count("runs", &f.runs, mostRuns, "ask each question `N` times (1)"),
		count("limit", &f.limit, mostQuestions, "ask the first `N` questions alone"),
		cmdline.TextFlag("", "answer-pattern", &f.pattern, "the value of an answer is the last match of `RE`"),
		cmdline.TextFlag("", "score", &f.score, "`HOW` an answer is scored: exact, number[:TOL], choice, contains, pattern, json, command:CMD or grader:TYPE/MODEL"),
		cmdline.TextFlag("", "equal", &f.equal, "take as many samples as the dearest strategy costs in `WHAT`: calls, tokens or usd"),
		&cli.StringFlag{Name: "max-usd", Usage: "spend no more than so many US `DOLLARS` in all", Action: func(_ *cli.Context, text string) error {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v >= 0 && v <= configs.MostUSD) { // NaN is neither
				return fmt.Errorf("--max-usd is %q: it is a number of US dollars from 0 to %d", wording.Shortened(text, 40), configs.MostUSD)
			}
			f.maxUSD = &v
			return nil
		}},
		count("concurrency", &f.atOnce, mostAtOnce, "answer `N` questions at once (4)"),
		&cli.StringFlag{Name: "seed", Usage: "draw resamples by the seed `N` (1)", Action: func(_ *cli.Context, text string) (err error) {
			if f.seed, err = strconv.ParseUint(text, 10, 31); err != nil {
				return fmt.Errorf("--seed is %q: it is a whole number from 0 on", wording.Shortened(text, 40))
			}
			return nil
		}},
		cmdline.SwitchFlag("", "yes", &f.yes, "do not ask before it begins"),
		cmdline.SwitchFlag("", "again", &f.again, "ask anew, also what is answered"),
		cmdline.TextFlag("", "from", &f.out.from, "ask nothing; compute the figures from the journals in the state folder `DIR`"),
		cmdline.SwitchFlag("", "json", &p.Options.Display.JSON, "print one JSON object"),
		cmdline.TextFlag("", "html", &f.out.html, "write a page with pictures to `FILE`"),
		cmdline.TextFlag("", "write-config", &f.out.config, "write the cheapest panel that may be as good as the best to `FILE`"),
		cmdline.TextFlag("", "add", &f.out.add, "append the question of a SESSION's turn to `FILE`"),
		cmdline.TextFlag("", "expected", &f.out.expected, "with --add: the right answer is `TEXT`, not the turn's"),
		cmdline.TextFlag("", "state-dir", &p.Options.Session.StateDir, "keep the answers below `DIR`"),
		cmdline.SwitchFlag("", "trust", &p.Options.Session.Trust, cmdline.TrustUsage),
	}
}

// count returns a flag with a whole number from 1 on.
func count(name string, to *int, most int, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage, Action: func(_ *cli.Context, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("--%s is %q: it is a whole number from 1 to %d", name, wording.Shortened(text, 40), most)
		}
		*to = n
		return nil
	}}
}

// command is one comparison.
type command struct {
	program *program.Program
	flags   *flags
}

func (c *command) run(ctx context.Context, words []string) error {
	f := c.flags
	switch {
	case f.out.add != "":
		return c.addQuestion(ctx, words)
	case f.out.expected != "":
		return errors.New("compare: --expected goes with --add: leave it out, and give the questions expected")
	case f.out.from != "" && len(words) == 0:
		return c.fromJournals(ctx)
	case len(words) != 1:
		return errors.New("compare: it takes one file of questions, JSONL or CSV with question and expected")
	}
	world := cmdline.NewWorld(c.program.Env, c.program.Console.Warn)
	config, err := c.program.Panels.Load(world)
	if err != nil {
		return err
	}
	world.HideKeys(c.program.Console.Secrets)
	list, err := readQuestions(words[0], f.limit)
	if err != nil {
		return err
	}
	p, err := newPlan(config, list, f)
	if err != nil {
		return err
	}
	how, err := p.scorer()
	if err != nil {
		return fmt.Errorf("%s: %w", plain.Line(words[0]), err)
	}
	if f.out.from != "" {
		return c.fromPlan(ctx, p, how, config)
	}
	return c.play(ctx, p, how, config, world)
}

// planFile has the plan of the last comparison, beside the sessions.
const planFile = "comparison.json"

// folder returns the folder of the comparisons: below that of --from, or else of the sessions.
func (c *command) folder(ctx context.Context) (string, error) {
	dir := c.flags.out.from
	if dir == "" {
		var err error
		if dir, err = c.program.Kept.Folder(ctx); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "compare"), nil
}

// open opens the store of the comparisons.
func (c *command) open(ctx context.Context) (opened *store.Store, dir string, err error) {
	if dir, err = c.folder(ctx); err != nil {
		return nil, "", err
	}
	opened, err = store.Open(ctx, store.In(dir), c.program.Console.Secrets.Redact)
	if err == nil {
		opened.Limiter = limiters()
	}
	return opened, dir, err
}

// fromJournals computes the last comparison of a folder again.
func (c *command) fromJournals(ctx context.Context) error {
	dir, err := c.folder(ctx)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		return fmt.Errorf("--from: there is no comparison below %s: %w", plain.Line(c.flags.out.from), err)
	}
	p := &plan{}
	if err = json.Unmarshal(data, p); err == nil {
		err = p.checkRead()
	}
	if err != nil {
		return fmt.Errorf("--from: %s: %w; ask again with the questions", plain.Line(filepath.Join(dir, planFile)), err)
	}
	p.Score, p.Pattern = cmp.Or(c.flags.score, p.Score), cmp.Or(c.flags.pattern, p.Pattern)
	how, err := p.scorer()
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	return c.fromPlan(ctx, p, how, nil)
}

// fromPlan prints a comparison as its journals have it.
func (c *command) fromPlan(ctx context.Context, p *plan, how *scorer, config *configs.Config) (err error) {
	dir, err := c.folder(ctx)
	if err != nil {
		return err
	}
	if isThere, err := store.In(dir).IsThere(); err != nil || !isThere {
		return errors.Join(err, fmt.Errorf("--from: there is no comparison below %s", plain.Line(c.flags.out.from)))
	}
	opened, dir, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	m := &meter{plan: p, store: opened.Sessions, scorer: how}
	return c.show(ctx, m, dir, config)
}
