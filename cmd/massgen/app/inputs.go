package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/debugbackend"
)

// inputsCommand shows what --dump-inputs wrote.
func (p *program) inputsCommand() *cli.Command {
	out := p.console.out
	var table, calls, diff bool
	return &cli.Command{
		Name: "inputs", Usage: "show the model calls that --dump-inputs wrote",
		UsageText: `massgen inputs DIR              print every call in full
massgen inputs DIR --table      the sizes and sections of each turn
massgen inputs DIR --table --calls
massgen inputs DIR --diff A B   what B has that A has not; A and B are calls, such as
                                turn-001/researcher/call-001`,
		Flags: []cli.Flag{
			switchFlag("", "table", &table, "show sizes and sections, a row for each turn"),
			switchFlag("", "calls", &calls, "with --table: a row for each call"),
			switchFlag("", "diff", &diff, "show the difference of two calls"),
		},
		HideHelpCommand: true,
		Action: func(*cli.Context) error {
			switch {
			case diff:
				return diffInputs(out, p.words)
			case len(p.words) != 1:
				return errors.New("inputs: it takes one folder: massgen inputs DIR")
			}
			loaded, err := debugbackend.LoadDir(p.words[0])
			if err != nil {
				return err
			}
			switch {
			case calls:
				return debugbackend.CallTable(out, loaded)
			case table:
				return debugbackend.Table(out, loaded)
			}
			return debugbackend.Print(out, loaded)
		},
	}
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
