package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/attach"
)

// attachFlag takes the files that the first question is asked with.
type attachFlag struct {
	paths texts
	files []backends.File
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
		f.files = append(f.files, file)
	}
	f.files = attach.Once(f.files)
	if err := attach.Check(f.files); err != nil {
		return fmt.Errorf("--attach: %w", err)
	}
	return nil
}

// attached returns the context of a question with the files of --attach, which the first question
// takes, beside those that it has.
func attached(ctx context.Context, s *session) context.Context {
	ctx = attach.With(ctx, slices.Concat(attach.Of(ctx), s.options.attach.files))
	s.options.attach.files = nil
	if files := attach.Of(ctx); len(files) > 0 {
		names := make([]string, len(files))
		for i, f := range files {
			names[i] = f.Name
		}
		s.feed.remark("attached: %s", strings.Join(names, ", "))
	}
	return ctx
}

// errAttachedToNothing is for a command line that goes on with a question that was asked.
var errAttachedToNothing = errors.New("--attach: --continue without a question goes on with the turn that was interrupted, which has its files: give a question, or leave --attach out")
