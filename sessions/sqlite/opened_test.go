//go:build !windows

// On Windows an open file cannot be moved.

package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// openedStore is a store that has turns of two openings, the later ones only in its log.
func openedStore(t *testing.T) (path string, s *sqlite.Store) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sessions.db")
	must(t, os.WriteFile(path, oneTurn(t), 0o600))
	s, err := sqlite.Open(t.Context(), path)
	must(t, err)
	addTurn(t, s, "s")
	return path, s
}

// TestStoreIsMovedWhileOpen: the log keeps what was stored meanwhile, no new store takes the log for its
// own, and the store has it all when it is back.
func TestStoreIsMovedWhileOpen(t *testing.T) {
	t.Parallel()
	path, s := openedStore(t)
	must(t, os.Rename(path, path+".away"))
	addTurn(t, s, "s")
	said(t, s.Close(), "close: the store "+path+" was removed or moved")
	for range 2 {
		_, err := sqlite.Open(t.Context(), path)
		said(t, err, "make: the store "+path+" is not there, and its log (-wal) is: put the store back")
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the store that was refused is there: %v", err)
		}
	}
	must(t, os.Rename(path+".away", path))
	checkTurns(t, path, 3)
}

// TestStoreIsRemovedWhileOpen: once the log is removed too, a new store is made.
func TestStoreIsRemovedWhileOpen(t *testing.T) {
	t.Parallel()
	path, s := openedStore(t)
	must(t, os.Remove(path))
	_, err := s.List(t.Context(), sessions.Filter{})
	said(t, err, "list the sessions: the store "+path+" was removed or moved")
	said(t, s.Close(), "close: the store "+path+" was removed or moved")
	_, err = sqlite.Open(t.Context(), path)
	said(t, err, "or remove the log to begin a new store")
	must(t, os.Remove(path+"-wal"))
	checkTurns(t, path, 0)
}

// TestStoreIsReplacedWhileOpen: nothing more is written.
func TestStoreIsReplacedWhileOpen(t *testing.T) {
	t.Parallel()
	path, s := openedStore(t)
	b, err := s.Begin(t.Context(), "s", "question")
	must(t, err)
	must(t, s.Append(t.Context(), "s", b.Turn, []byte(`"first"`)))
	other := filepath.Join(t.TempDir(), "other.db")
	must(t, os.WriteFile(other, oneTurn(t), 0o600))
	must(t, os.Rename(other, path))
	said(t, s.Append(t.Context(), "s", b.Turn, []byte(`"second"`)), "write the journal of session s: the store "+path+" was replaced")
	said(t, s.Close(), "close: the store "+path+" was replaced while massgen had it open: put the old file back")
}

func said(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("the error is %v, not %q", err, words)
	}
}

// checkTurns opens a store, counts the turns of its session, and looks for damage.
func checkTurns(t *testing.T, path string, want int) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	must(t, err)
	got, err := s.Session(t.Context(), "s")
	if want == 0 && errors.Is(err, sessions.ErrNoSession) {
		err = nil
	}
	must(t, err)
	if got.Turns != want {
		t.Errorf("%d turns, want %d", got.Turns, want)
	}
	must(t, s.Check(t.Context()))
	must(t, s.Close())
}
