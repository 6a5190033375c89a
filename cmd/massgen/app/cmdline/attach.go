package cmdline

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/attach"
)

// attachFlag reads the files of the first question.
type attachFlag struct {
	paths Texts
	Files []backends.File
}

func (f *attachFlag) flags() []cli.Flag {
	return []cli.Flag{&cli.GenericFlag{
		Name: "attach", Value: &f.paths, Category: asking, Action: f.read,
		Usage: "ask with the picture, PDF or text `FILE` (png, jpeg, webp, gif, pdf, UTF-8); repeat it for several",
	}}
}

func (f *attachFlag) read(*cli.Context, any) error {
	for _, path := range f.paths {
		file, err := attach.Open(path)
		if err != nil {
			return fmt.Errorf("--%w", err) // it begins with "attach" and the file's name
		}
		f.Files = append(f.Files, file)
	}
	f.Files = attach.Once(f.Files)
	if err := attach.Check(f.Files); err != nil {
		return fmt.Errorf("--attach: %w", err)
	}
	return nil
}
