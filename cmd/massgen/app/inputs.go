package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/plain"
	"github.com/massgen/massgen/internal/store"
)

// inputsCommand shows what models were sent and what they replied.
type inputsCommand struct {
	*program
	table, calls, diff bool
}

func (c *inputsCommand) cli() *cli.Command {
	return &cli.Command{
		Name: "inputs", Usage: "show what models were sent, and their replies",
		UsageText: "massgen inputs SESSION [TURN] [AGENT] ...\n\n" + twoColumns([][2]string{
			{"SESSION", "every call in full, from the journal"},
			{"FILE.jsonl", "the same of a file that sessions export wrote"},
			{"DIR", "the same of what --dump-inputs wrote, byte for byte"},
			{"... --table [--calls]", "sizes and sections, a row for each turn, or call"},
			{"DIR --diff A B", "what B has that A has not; A and B are calls, such as turn-001/researcher/call-001"},
		}),
		Flags: append([]cli.Flag{
			switchFlag("", "table", &c.table, "show sizes and sections, a row for each turn"),
			switchFlag("", "calls", &c.calls, "with --table: a row for each call"),
			switchFlag("", "diff", &c.diff, "show the difference of two calls"),
		}, c.keptFlags()...),
		HideHelpCommand: true,
		Action: func(ctx *cli.Context) error {
			if c.diff {
				return diffInputs(c.console.out, c.words)
			}
			if len(c.words) == 0 {
				return errors.New("inputs: it takes a session or a folder: massgen inputs SESSION [TURN] [AGENT]")
			}
			loaded, err := c.load(ctx.Context, c.words[0], c.words[1:])
			if err != nil {
				return err
			}
			return c.show(loaded)
		},
	}
}

// load returns the calls of a folder, a recording or a session.
func (c *inputsCommand) load(ctx context.Context, from string, words []string) (calls []debugbackend.Call, err error) {
	chosen, err := newChoice(words)
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	load := func() (calls []debugbackend.Call, err error) {
		if calls, err = debugbackend.LoadDir(from); err == nil {
			calls, err = chosen.of(calls)
		}
		return calls, err
	}
	switch {
	case debugbackend.HoldsCalls(from):
		calls, err = load()
	case isRecording(from) && !isFolder(from):
		var r recording
		var id string
		if r, id, err = readRecording(ctx, from); err == nil {
			calls, err = keptCalls(ctx, r, id, chosen, c.console.warn)
		}
	default:
		return calls, c.withStore(ctx, "inputs", verb{name: plain.Line(from), run: func(ctx context.Context, store *store.Store, _ []string) error {
			kept, err := sessionOf(ctx, store, from)
			switch {
			case err == nil:
				calls, err = keptCalls(ctx, store, kept.ID, chosen, c.console.warn)
			case isFolder(from): // perhaps one within a dump
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

func (c *inputsCommand) show(calls []debugbackend.Call) error {
	switch {
	case c.options.display.json:
		for _, call := range calls {
			if err := c.console.putJSON(call); err != nil {
				return err
			}
		}
		return nil
	case c.calls:
		return debugbackend.CallTable(c.console.out, calls)
	case c.table:
		return debugbackend.Table(c.console.out, calls)
	}
	return debugbackend.Print(c.console.out, calls)
}

// diffInputs compares two calls, which are files or stand in the folder named
// before them.
func diffInputs(out io.Writer, words []string) error {
	dir := ""
	if len(words) == 3 {
		dir, words = words[0], words[1:]
	}
	if len(words) != 2 || isFolder(words[0]) {
		return errors.New("inputs: --diff takes two calls: massgen inputs DIR --diff turn-001/AGENT/call-001 turn-002/AGENT/call-001")
	}
	a, err := loadCall(dir, words[0])
	if err != nil {
		return err
	}
	b, err := loadCall(dir, words[1])
	if err != nil {
		return err
	}
	return debugbackend.Diff(out, a, b)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func loadCall(dir, name string) (debugbackend.Call, error) {
	file := strings.TrimSuffix(strings.TrimSuffix(name, ".txt"), ".json") + ".json"
	path := filepath.Join(dir, file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && dir != "" {
		if _, err := os.Stat(file); err == nil {
			path = file
		}
	}
	c, err := debugbackend.LoadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("inputs: there is no call %s: name it as turn-001/AGENT/call-001", path)
	}
	return c, err
}
