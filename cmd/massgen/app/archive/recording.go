package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// IsRecording reports whether a word names a file that sessions export wrote, and not a session.
func IsRecording(word string) bool { return cmdline.IsPath(word) || strings.HasSuffix(word, ".jsonl") }

// Recording is a store as a replay uses it.
type Recording interface {
	coordinator.Recording
	Turns(ctx context.Context, id string, last int) ([]sessions.Turn, error)
}

// ReadRecording reads a file into a store of its own.
func ReadRecording(ctx context.Context, file string) (r Recording, id string, err error) {
	f, err := OpenFile(file)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	store := sessions.NewMemory()
	kept, err := store.Import(ctx, f, "")
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	return store, kept.ID, nil
}

// mostImported is the size of the largest file of a session, in bytes.
const mostImported = 1 << 30

// OpenFile opens an ordinary file to read. It refuses devices and pipes, which may never end.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no ordinary file: copy what it has into one", path)
	case info.Size() > mostImported:
		return nil, fmt.Errorf("%s has %d bytes, and a session has at most %d", path, info.Size(), mostImported)
	}
	return os.Open(path)
}
