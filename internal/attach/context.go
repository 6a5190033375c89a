package attach

import (
	"context"

	"github.com/massgen/massgen/backends"
)

// RefusedError says why a question cannot be asked with its files.
type RefusedError struct{ Err error }

func (e RefusedError) Error() string { return e.Err.Error() }

func (e RefusedError) Unwrap() error { return e.Err }

type filesKey struct{}

// With returns the context of a turn whose question is asked with files.
func With(ctx context.Context, files []backends.File) context.Context {
	if len(files) == 0 {
		return ctx
	}
	return context.WithValue(ctx, filesKey{}, files)
}

// Of returns the files with which a turn's question is asked.
func Of(ctx context.Context) []backends.File {
	files, _ := ctx.Value(filesKey{}).([]backends.File)
	return files
}
