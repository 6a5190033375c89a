// Package inputs has the commands that look into turns: inputs, show and replay.
package inputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// command shows what models were sent and what they replied.
type command struct {
	console *cmdline.Console
	kept    *archive.Archive

	table, calls, diff bool
	round              int // 0 for all
}

// Command returns the command inputs.
func Command(out *cmdline.Console, kept *archive.Archive) *cli.Command {
	c := &command{console: out, kept: kept}
	return &cli.Command{
		Name: "inputs", Usage: "show what models were sent, and their replies",
		UsageText: "massgen inputs [SESSION] [TURN] [AGENT] ...\n\n" + wording.TwoColumns([][2]string{
			{"SESSION", "every call in full, from the journal; without it, or with last, those of the session that was used last"},
			{"FILE.jsonl", "the same of a file that sessions export wrote"},
			{"DIR", "the same of what --dump-inputs wrote, byte for byte"},
			{"... --round N", "those of round N alone, such as massgen inputs last researcher --round 2"},
			{"... --table [--calls]", "sizes and sections, a row for each turn, or call"},
			{"... --diff A B", "what B has that A has not; A and B are calls, such as turn-001/researcher/call-001"},
		}),
		Flags: append([]cli.Flag{
			cmdline.SwitchFlag("", "table", &c.table, "show sizes and sections, a row for each turn"),
			cmdline.SwitchFlag("", "calls", &c.calls, "with --table: a row for each call"),
			&cli.IntFlag{Name: "round", DefaultText: "all", Usage: "show the calls of round `N` alone", Action: func(_ *cli.Context, n int) error {
				if n < 1 {
					return fmt.Errorf("--round: there is no round %d: rounds count from 1", n)
				}
				c.round = n
				return nil
			}},
			cmdline.SwitchFlag("", "diff", &c.diff, "show the difference of two calls"),
		}, c.kept.CommandFlags()...),
		BashComplete: archive.CompleteFirst(archive.SessionArgument, archive.FileArgument),
		Action: func(ctx *cli.Context) error {
			if c.diff {
				return c.showDiff(ctx.Context, ctx.Args().Slice())
			}
			loaded, err := c.load(ctx.Context, ctx.Args().Slice())
			if err != nil {
				return err
			}
			return c.show(loaded)
		},
	}
}

// load returns the calls of a folder, a recording or a session that words choose.
func (c *command) load(ctx context.Context, words []string) (calls []debugbackend.Call, err error) {
	from, others := "", words
	if len(words) > 0 {
		from, others = words[0], words[1:]
	}
	load := func() (calls []debugbackend.Call, err error) {
		chosen, err := c.choose(others)
		if err == nil {
			calls, err = debugbackend.LoadDir(from)
		}
		if err == nil {
			calls, err = chosen.Of(calls)
		}
		return calls, err
	}
	switch {
	case debugbackend.HoldsCalls(from):
		calls, err = load()
	case archive.IsRecording(from) && !isFolder(from):
		var r archive.Recording
		var id string
		if r, id, err = archive.ReadRecording(ctx, from); err == nil {
			calls, err = c.keptCalls(ctx, r, id, others)
		}
	default:
		return calls, c.kept.Run(ctx, "inputs", archive.Verb{Name: plain.Line(from), Run: func(ctx context.Context, store *store.Store, _ []string) error {
			kept, rest, err := c.kept.Pick(ctx, store, words, 2)
			switch {
			case err == nil:
				calls, err = c.keptCalls(ctx, store.Sessions, kept.ID, rest)
			case errors.Is(err, sessions.ErrNoSession) && isFolder(from): // perhaps one within a dump
				calls, err = load()
			}
			return err
		}}, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	return calls, nil
}

func (c *command) show(calls []debugbackend.Call) error {
	switch {
	case c.kept.IsJSON():
		for _, call := range calls {
			if err := c.console.PutJSON(call); err != nil {
				return err
			}
		}
		return nil
	case c.calls:
		return debugbackend.CallTable(c.console.Out, calls)
	case c.table:
		return debugbackend.Table(c.console.Out, calls)
	}
	return debugbackend.Print(c.console.Out, calls)
}

// showDiff compares two calls: two files, or two calls of the folder, the recording or the session
// that is named before them.
func (c *command) showDiff(ctx context.Context, words []string) error {
	isNamed := func(name string) bool { return strings.Contains(name, "/") || isCallFile(name) }
	if len(words) < 2 || len(words) > 3 || len(words) == 2 && (isFolder(words[0]) || !isNamed(words[0])) {
		return errors.New("inputs: --diff takes two calls: massgen inputs SESSION --diff turn-001/AGENT/call-001 turn-002/AGENT/call-001")
	}
	from, names := words[:len(words)-2], words[len(words)-2:]
	dir := strings.Join(from, "")
	find := func(name string) (debugbackend.Call, error) { return loadCall(dir, name) }
	areFiles := debugbackend.HoldsCalls(dir) || slices.ContainsFunc(names, func(name string) bool {
		return isCallFile(filepath.Join(dir, name)) || isCallFile(name)
	})
	if !areFiles {
		calls, err := c.load(ctx, from)
		if err != nil {
			return err
		}
		find = func(name string) (debugbackend.Call, error) { return callNamed(calls, name) }
	}
	a, err := find(names[0])
	if err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	b, err := find(names[1])
	if err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	return debugbackend.Diff(c.console.Out, a, b)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// callFile is the name of a call's file with its ending.
func callFile(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".txt"), ".json") + ".json"
}

func isCallFile(name string) bool {
	info, err := os.Stat(callFile(name))
	return err == nil && info.Mode().IsRegular()
}

func loadCall(dir, name string) (debugbackend.Call, error) {
	path := filepath.Join(dir, callFile(name))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && dir != "" && isCallFile(name) {
		path = callFile(name)
	}
	c, err := debugbackend.LoadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("there is no call %s: name it as turn-001/AGENT/call-001", path)
	}
	return c, err
}

// callNamed returns the call of a session that a name such as turn-001/AGENT/call-001 means.
func callNamed(calls []debugbackend.Call, name string) (debugbackend.Call, error) {
	wanted := strings.TrimSuffix(callFile(filepath.ToSlash(filepath.Clean(name))), ".json")
	for _, call := range calls {
		if call.Name() == wanted {
			return call, nil
		}
	}
	const most = 6
	var names []string
	for _, call := range calls[:min(len(calls), most)] {
		names = append(names, call.Name())
	}
	if len(calls) > most {
		names = append(names, "…")
	}
	return debugbackend.Call{}, fmt.Errorf("there is no call %s: the calls are %s", plain.Line(name), plain.Line(strings.Join(names, ", ")))
}
