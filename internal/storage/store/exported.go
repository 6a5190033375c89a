package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/filelock"
	"github.com/massgen/massgen/sessions"
)

// IsExported reports whether a path names a file in the form that Export writes.
func IsExported(path string) bool { return IsDocument(path) || strings.HasSuffix(path, ".jsonl") }

// IsDocument reports whether a path names a file in that form that is one JSON document, and not a value a line.
func IsDocument(path string) bool { return strings.HasSuffix(path, ".json") }

// Document returns the JSONL that Export wrote as one JSON document: a list with an item for each line.
func Document(lines []byte) []byte {
	list := bytes.Split(bytes.TrimRight(lines, "\n"), []byte("\n"))
	return slices.Concat([]byte("[\n"), bytes.Join(list, []byte(",\n")), []byte("\n]\n"))
}

// Exported is the place of one session, sessions.Default, in a file in the form that Export
// writes. While the store is open, the session is in a database beside the file. Close writes the
// file and removes the database. After a crash the next Open goes on with the database.
func Exported(file string) Place { return Place{File: file + ".db", export: file} }

// IsThere reports whether the place has a file.
func (p Place) IsThere() (bool, error) {
	for _, file := range []string{p.File, p.export} {
		_, err := os.Stat(file)
		if file != "" && !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

// takes refuses a second session: the file holds one.
func (e *exported) takes(id string) error {
	if id == sessions.Default {
		return nil
	}
	return fmt.Errorf("%s holds one session: --session with another file begins a second one, and a copy of %s is a copy of this one", e.file, e.file)
}

// exported is the file of an open store.
type exported struct {
	file string
	lock *filelock.Lock
	text []byte // the file's content when the store was opened; nil for no file
}

// openExported opens the place of an exported session. The error names the file.
func openExported(ctx context.Context, p Place, redact func(string) string) (s *Store, err error) {
	lock, err := filelock.Try(p.File + ".lock")
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", p.export, err)
	case lock == nil:
		return nil, fmt.Errorf("%s is open in another process: end that first", p.export)
	}
	e := &exported{file: p.export, lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	if e.text, err = e.read(); err != nil {
		return nil, err
	}
	_, missing := os.Stat(p.File)
	s, err = Open(ctx, At(p.File), redact)
	if err != nil {
		return nil, err
	}
	s.Sessions, s.export, s.Snapshots = s.Sessions.Only(e.takes), e, beside(p.export)
	if errors.Is(missing, fs.ErrNotExist) {
		err = e.load(ctx, s)
	} else {
		err = e.compare(ctx, s)
	}
	if err == nil {
		return s, nil
	}
	err = errors.Join(err, s.lasting.Close())
	if errors.Is(missing, fs.ErrNotExist) {
		err = errors.Join(err, removeDatabase(p.File))
	}
	return nil, err
}

// read returns the content of the file, nil if there is none.
func (e *exported) read() ([]byte, error) {
	text, err := os.ReadFile(e.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// load reads the session of the file into an empty store.
func (e *exported) load(ctx context.Context, s *Store) error {
	if len(bytes.TrimSpace(e.text)) == 0 {
		return nil
	}
	err := s.CheckSecrets(string(e.text))
	if err == nil {
		_, err = s.Sessions.Import(ctx, bytes.NewReader(e.text), sessions.Default)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.file, err)
	}
	return nil
}

// compare refuses a file that was changed after a crash left the store.
func (e *exported) compare(ctx context.Context, s *Store) error {
	written, err := os.Stat(e.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	left, dbErr := os.Stat(s.path)
	if err = errors.Join(err, dbErr); err != nil || !written.ModTime().After(left.ModTime()) {
		return err
	}
	lines, err := e.lines(ctx, s)
	if err == nil && !bytes.Equal(e.form(lines), e.text) && !bytes.Equal(lines, e.text) { // older versions wrote lines
		err = fmt.Errorf("%s was changed after a crash had left %s: remove one of them", e.file, s.path)
	}
	return err
}

// form returns what Export wrote in the file's form.
func (e *exported) form(lines []byte) []byte {
	if len(lines) == 0 || !IsDocument(e.file) {
		return lines
	}
	return Document(lines)
}

// lines returns the session as Export writes it, nil if there is no session.
func (e *exported) lines(ctx context.Context, s *Store) ([]byte, error) {
	var text bytes.Buffer
	err := s.Sessions.Export(ctx, sessions.Default, &text)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	if err == nil && s.redact(text.String()) != text.String() {
		err = errors.New("the session contains a text that is a secret now")
	}
	return text.Bytes(), err
}

// close writes the file, closes the store and removes its database. If the file cannot be
// written, the database stays.
func (e *exported) close(s *Store) error {
	err := e.save(s)
	if err != nil {
		err = fmt.Errorf("write %s: %w; the session is in %s", e.file, err, s.path)
	}
	closed := s.lasting.Close()
	if err == nil && closed == nil {
		err = removeDatabase(s.path)
	}
	return errors.Join(err, closed, e.lock.Release())
}

func (e *exported) save(s *Store) error {
	lines, err := e.lines(context.Background(), s)
	text := e.form(lines)
	if err != nil || bytes.Equal(text, e.text) {
		return err
	}
	now, err := e.read()
	switch {
	case err != nil:
		return err
	case !bytes.Equal(now, e.text):
		return errors.New("it was changed meanwhile")
	case text == nil:
		return os.Remove(e.file)
	}
	return filelock.WriteWholeSync(e.file, text) // readable only by the user
}

// removeDatabase removes a closed database of SQLite.
func removeDatabase(path string) (err error) {
	for _, ending := range []string{"-wal", "-shm", ""} {
		if failed := os.Remove(path + ending); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// CheckSecrets returns an error for a text with a secret of this machine, because masking would
// change the text. The error names the line.
func (s *Store) CheckSecrets(text string) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if s.redact(line) != line {
			return fmt.Errorf("line %d contains a secret of this machine, such as a key in the environment, and models are sent what is stored: unset that key to use the text", number)
		}
	}
	return nil
}
