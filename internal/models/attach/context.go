package attach

import (
	"context"
	"crypto/sha256"

	"github.com/massgen/massgen/backends"
)

// RefusedError says why a question cannot be asked with its files.
type RefusedError struct{ Err error }

func (e RefusedError) Error() string { return e.Err.Error() }

func (e RefusedError) Unwrap() error { return e.Err }

type filesKey struct{}

// With returns the context of a turn whose question is asked with files, each once.
func With(ctx context.Context, files []backends.File) context.Context {
	if len(files) == 0 {
		return ctx
	}
	return context.WithValue(ctx, filesKey{}, Once(files))
}

// Once returns the files without repetitions. Equal bytes under another name are another file, since
// a question may speak of both names.
func Once(files []backends.File) (once []backends.File) {
	type content struct {
		name string
		sum  [sha256.Size]byte
	}
	known := map[content]bool{} // a request may have many small files
	for _, f := range files {
		of := content{f.Name, sha256.Sum256(f.Data)}
		if !known[of] {
			once = append(once, f)
		}
		known[of] = true
	}
	return once
}

// Of returns the files with which a turn's question is asked.
func Of(ctx context.Context) []backends.File {
	files, _ := ctx.Value(filesKey{}).([]backends.File)
	return files
}
