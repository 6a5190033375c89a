package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// StandardStream, in place of a file, is standard input or output.
const StandardStream = "-"

// PutFile writes a text to a new file, or to standard output.
func PutFile(env *cmdline.Env, c *cmdline.Console, file, text string) error {
	if file != StandardStream {
		return writeNew(file, text)
	}
	if cmdline.IsTerminal(env.Stdout) { // JSON and Markdown read the same with escapes for what would move the cursor; pages have none
		text = plain.Escape(text, "\n\t")
	}
	return c.Put(text)
}

// writeNew creates a file that only the user can read.
func writeNew(file, text string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: name another file, or remove it", file)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(file)) // half a session is useless
		}
	}()
	_, err = io.WriteString(f, text)
	return err
}

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
	kept, err := store.Import(ctx, charset.NewReader(f), "")
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
