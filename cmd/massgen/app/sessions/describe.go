package sessions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// described is the state of a session's last turn as massgen describe --json prints it.
type described struct {
	ID     string        `json:"id"`
	Turn   int           `json:"turn"`
	Status kernel.Status `json:"status"`
	// StepStates is as in sessions show --json.
	StepStates map[string]step.State `json:"step_states"`
	// Unfinished are the calls of an interrupted turn that have no result.
	Unfinished []coordinator.UnfinishedCall `json:"unfinished"`
}

// describeCommand shows where a session's last turn is.
type describeCommand struct {
	console *cmdline.Console
	kept    *archive.Archive
}

// Describe returns the command describe.
func Describe(out *cmdline.Console, kept *archive.Archive) *cli.Command {
	p := &describeCommand{out, kept}
	return &cli.Command{
		Name: "describe", Usage: "show what each agent of a session's last turn waits for",
		UsageText:    "massgen describe [SESSION]\n\n" + wording.TwoColumns([][2]string{{"SESSION", "show the state of each agent in its last turn: idle, awaiting_llm, awaiting_tool, completed or error; without it, the session that was used last"}}),
		Flags:        p.kept.CommandFlags(),
		BashComplete: archive.CompleteFirst(archive.SessionArgument),
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() > 1 {
				return errors.New("describe: it takes one session: massgen describe [SESSION]")
			}
			return p.kept.RunOn(ctx.Context, "describe", ctx.Args().Slice(), func(store *store.Store, kept sessions.Session) error {
				return p.describe(ctx.Context, store, kept)
			})
		},
	}
}

func (p *describeCommand) describe(ctx context.Context, store *store.Store, kept sessions.Session) error {
	left, err := store.Sessions.Interrupted(ctx, kept.ID)
	if err != nil {
		return err
	}
	d := described{ID: kept.ID, Unfinished: []coordinator.UnfinishedCall{}}
	var last sessions.Turn
	if len(left) > 0 {
		last = left[0]
		d.Unfinished, err = withoutResult(ctx, p.kept, store, kept.ID, last)
	} else {
		last, err = archive.LastEnded(ctx, store, kept.ID)
	}
	if err != nil {
		return err
	}
	record, err := coordinator.ReadRecord(ctx, store.Sessions, kept.ID, last.Number)
	if err != nil {
		return err
	}
	d.Turn, d.Status, d.StepStates = last.Number, last.Status, record.StepStates
	if p.kept.IsJSON() {
		return p.console.PutJSON(d)
	}
	var b strings.Builder
	status := d.Status
	if len(left) > 0 {
		status = "interrupted"
	}
	fmt.Fprintf(&b, "turn %d of session %s: %s\n", d.Turn, plain.Line(d.ID), status)
	var rows [][]string
	for _, id := range slices.Sorted(maps.Keys(d.StepStates)) {
		rows = append(rows, []string{plain.Line(id), string(d.StepStates[id])})
	}
	b.WriteString(plain.Columns(rows))
	if len(d.Unfinished) > 0 {
		fmt.Fprintf(&b, "without a result: %s\n", plain.Line(wording.UnfinishedCalls(d.Unfinished)))
	}
	return p.console.Put(b.String())
}
