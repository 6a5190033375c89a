package inputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// replayCommand runs recorded turns again. Its flags are zero where they are not given.
type replayCommand struct {
	env     *cmdline.Env
	console *cmdline.Console
	kept    *archive.Archive
	budget  *budget.Budget
	config  *string
	rerun   Rerun

	turn, from int
	as         string
}

// Rerun goes on live from a point of a recorded turn of a session, in the new session as.
type Rerun func(ctx context.Context, kept sessions.Session, from coordinator.Point, as string) error

// Replay returns the command replay. again runs replay --from.
func Replay(env *cmdline.Env, out *cmdline.Console, kept *archive.Archive, b *budget.Budget, config *string, again Rerun) *cli.Command {
	r := &replayCommand{env: env, console: out, kept: kept, budget: b, config: config, rerun: again}
	return &cli.Command{
		Name: "replay", Usage: "run recorded turns again, calling nothing",
		UsageText: "massgen replay [ID|FILE.jsonl] ...\n\n" + wording.TwoColumns([][2]string{
			{"ID [--turn N]", "all turns of a session, or one"},
			{"FILE.jsonl [--turn N]", "those of a file that sessions export wrote"},
			{"ID --from ROUND", "in a new session: the turn as recorded up to the start of that round, and live from there on"},
		}),
		Flags: slices.Concat(r.kept.CommandFlags(), []cli.Flag{
			&cli.IntFlag{Name: "turn", Destination: &r.turn, DefaultText: "all; with --from the last", Usage: "only turn `N`"},
			&cli.IntFlag{Name: "from", Destination: &r.from, DefaultText: "none", Usage: "go on live from the start of `ROUND`"},
			cmdline.TextFlag("", "as", &r.as, "--from: the `ID` of the new session"),
			cmdline.TextFlag("", "config", r.config, "--from: the panel, in YAML: `FILE`"),
		}, cmdline.BudgetFlags(r.budget, "", "--from: ")),
		BashComplete: archive.CompleteFirst(archive.SessionArgument, archive.FileArgument),
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if err := r.check(c, words); err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			if r.from > 0 {
				return r.goOn(c.Context, words)
			}
			return r.replay(c.Context, words)
		},
	}
}

func (c *replayCommand) check(flags *cli.Context, words []string) error {
	switch {
	case len(words) > 1:
		return errors.New("it takes one session: massgen replay [ID]")
	case flags.IsSet("turn") && c.turn < 1:
		return errors.New("--turn: turns count from 1")
	case flags.IsSet("from") && c.from < 1:
		return errors.New("--from: rounds count from 1")
	case c.from == 0 && (c.as != "" || flags.IsSet("config") || !c.budget.None()):
		return errors.New("--as, --config and a budget mean something with --from only: a replay calls nothing")
	case c.from > 0 && len(words) > 0 && archive.IsRecording(words[0]):
		return fmt.Errorf("--from goes on in a store: %s first", c.kept.Command("sessions", "import", words[0]))
	}
	return nil
}

// replay replays the turns of a session, or of a recording.
func (c *replayCommand) replay(ctx context.Context, words []string) error {
	cmdline.HideKeys(c.env, c.console)
	if len(words) > 0 && archive.IsRecording(words[0]) {
		recording, id, err := archive.ReadRecording(ctx, words[0])
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		return c.replayTurns(ctx, recording, id)
	}
	return c.kept.RunOn(ctx, "replay", words, func(store *store.Store, kept sessions.Session) error {
		return c.replayTurns(ctx, store.Sessions, kept.ID)
	})
}

// replayedTurn is a line of massgen replay --json.
type replayedTurn struct {
	SessionID string `json:"session_id"`
	Turn      int    `json:"turn"`
	coordinator.Replayed
}

func (c *replayCommand) replayTurns(ctx context.Context, r archive.Recording, id string) error {
	only := c.turn
	turns, err := r.Turns(ctx, id, 0)
	if err != nil {
		return err
	}
	if only > len(turns) {
		return fmt.Errorf("session %s has no turn %d: it has %s", plain.Line(id), only, plain.Count(len(turns), "turn"))
	}
	for _, t := range turns {
		if only > 0 && t.Number != only {
			continue
		}
		journal, err := r.Journal(ctx, id, t.Number, 0)
		switch {
		case err != nil:
			return err
		case len(journal) == 0:
			err = c.warnUnrecorded(id, t.Number)
		default:
			err = c.replayTurn(ctx, r, id, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// warnUnrecorded prints that a turn has no journal, in JSON as a replay of no events.
func (c *replayCommand) warnUnrecorded(id string, turn int) error {
	if c.kept.IsJSON() {
		return c.console.PutJSON(replayedTurn{id, turn, coordinator.Replayed{Unfinished: []coordinator.UnfinishedCall{}}})
	}
	return c.console.Put(fmt.Sprintf("turn %d: it has no journal here: it is of the session that this one was branched off\n", turn))
}

func (c *replayCommand) replayTurn(ctx context.Context, r archive.Recording, id string, t sessions.Turn) error {
	replayed, err := coordinator.Replay(ctx, r, id, t)
	var difference *coordinator.Difference
	if errors.As(err, &difference) {
		err = errors.Join(err, ShowDifference(c.console.Out, difference))
	}
	switch {
	case err != nil:
		return cmdline.WithStatus(cmdline.ExitFailed, err)
	case c.kept.IsJSON():
		return c.console.PutJSON(replayedTurn{id, t.Number, replayed})
	}
	return c.console.Put(fmt.Sprintf("turn %d: %s\n", t.Number, replayedLine(replayed)))
}

// replayedLine returns a line about a replay.
func replayedLine(r coordinator.Replayed) string {
	line := fmt.Sprintf("%s, %s as recorded", plain.Count(r.Events, "event"), plain.Count(r.Inputs, "input"))
	if r.Unchecked > 0 {
		line += fmt.Sprintf(", %d not recorded", r.Unchecked)
	}
	switch {
	case r.Status == "":
		line += "; it is not finished: " + wording.UnfinishedCalls(r.Unfinished)
	case r.Winner == "":
		line += "; " + r.Status
	default:
		line += fmt.Sprintf("; %s, by %s", r.Status, r.Winner)
	}
	return plain.Line(line)
}

// ShowDifference writes both sides of a difference.
func ShowDifference(w io.Writer, d *coordinator.Difference) error {
	const before, after = "as recorded", "as this program has it"
	if d.Kind != coordinator.InputDiffers {
		return debugbackend.DiffTexts(w, before, after, string(d.Kind), d.RecordedText, d.RebuiltText)
	}
	if d.Lost != nil {
		_, err := fmt.Fprintf(w, "not all of the recorded input is there: %s\n", plain.Line(d.Lost.Error()))
		return err
	}
	return debugbackend.DiffRequests(w, before, after, d.Recorded, d.Rebuilt)
}

// goOn branches off the session that words name.
func (c *replayCommand) goOn(ctx context.Context, words []string) error {
	var kept sessions.Session
	err := c.kept.RunOn(ctx, "replay", words, func(_ *store.Store, picked sessions.Session) error {
		kept = picked
		return nil
	})
	if err != nil {
		return err
	}
	if c.as == "" {
		c.as = sessions.NewID()
	}
	if err := archive.CheckNewID(c.as); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return c.rerun(ctx, kept, coordinator.Point{Session: kept.ID, Turn: cmp.Or(c.turn, kept.Turns), Round: c.from}, c.as)
}
