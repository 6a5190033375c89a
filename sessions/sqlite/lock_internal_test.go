package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/sessions"
)

// A turn whose lock file somebody removes takes its lock anew with its next write. If another
// has the session by then, nothing more of the turn is kept.
func TestLockFileThatIsRemoved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "sessions.db")
	removeLock := func() {
		if err := os.Remove(lockPath(path, "s")); err != nil {
			t.Fatal(err)
		}
	}
	mine, theirs := openFile(t, path), openFile(t, path)
	begun, err := mine.Begin(ctx, "s", "question")
	if err != nil {
		t.Fatal(err)
	}
	removeLock()
	if err := mine.Append(ctx, "s", begun.Turn, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Resume(ctx, "s"); !errors.Is(err, sessions.ErrBusy) {
		t.Fatalf("the session was taken after a write: %v", err)
	}

	removeLock()
	if _, err := theirs.Resume(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	err = mine.Append(ctx, "s", begun.Turn, []byte("second"))
	if want := "the file of its lock was removed"; !errors.Is(err, sessions.ErrBusy) || !strings.Contains(err.Error(), want) {
		t.Fatalf("want %q, got: %v", want, err)
	}
	if err := mine.Leave(ctx, "s", begun.Turn); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(lockPath(path, "s")); err != nil {
		t.Errorf("who had lost the lock took away the file of who has it: %v", err)
	}
}
