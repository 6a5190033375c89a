package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

func mask(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }

func openExported(t *testing.T, file string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Exported(file), mask)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// addTurn adds a turn to the one session of a store.
func addTurn(t *testing.T, s *store.Store, question string) {
	t.Helper()
	b, err := s.Sessions.Begin(t.Context(), sessions.Default, question)
	if err == nil {
		err = s.Sessions.Append(t.Context(), sessions.Default, b.Turn, []byte(`{"type":"x"}`))
	}
	if err == nil {
		err = s.Sessions.End(t.Context(), sessions.Default, b.Turn, sessions.Ended{Status: kernel.AllFailed})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func turnsOf(t *testing.T, s *store.Store) int {
	t.Helper()
	turns, err := s.Sessions.Turns(t.Context(), sessions.Default, 0)
	if err != nil {
		t.Fatal(err)
	}
	return len(turns)
}

func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestExportedSessionIsWrittenWhenItIsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "chat.json")
	for turns := range 3 {
		s := openExported(t, file)
		if turns > 0 && turnsOf(t, s) != turns {
			t.Errorf("%d turns, want %d", turnsOf(t, s), turns)
		}
		addTurn(t, s, "question")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := files(t, dir); got != "chat.json" {
			t.Errorf("the folder has %s", got)
		}
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := openExported(t, file).Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file of a session that was only looked at was written anew, %v", err)
	}
}

func TestExportedSessionThatIsDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "chat.json")
	s := openExported(t, file)
	addTurn(t, s, "question")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openExported(t, file)
	if err := s.Sessions.Delete(t.Context(), sessions.Default); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || files(t, dir) != "" {
		t.Errorf("the folder has %s, %v", files(t, dir), err)
	}
}

// TestExportedSessionAfterACrash copies what a process has while it runs, as a kill leaves it.
func TestExportedSessionAfterACrash(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	s := openExported(t, filepath.Join(from, "chat.json"))
	addTurn(t, s, "question")
	for _, name := range strings.Fields(files(t, from)) {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(to, "chat.json")
	other, err := os.ReadFile(filepath.Join(from, "chat.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(other, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(file, later, later); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Exported(file), mask); err == nil || !strings.Contains(err.Error(), "remove one of them") {
		t.Errorf("with two sessions: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s = openExported(t, file)
	if got := turnsOf(t, s); got != 1 {
		t.Errorf("%d turns are there after a crash", got)
	}
	if err := s.Close(); err != nil || files(t, to) != "chat.json" {
		t.Errorf("the folder has %s, %v", files(t, to), err)
	}
}

func TestExportedSessionIsOpenOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "chat.json")
	s := openExported(t, file)
	addTurn(t, s, "question")
	if _, err := store.Open(t.Context(), store.Exported(file), mask); err == nil || !strings.Contains(err.Error(), "open in another process") {
		t.Errorf("a second time: %v", err)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "it was changed meanwhile; the session is in "+file+".db") {
		t.Errorf("over what another wrote: %v", err)
	}
	if data, err := os.ReadFile(file); string(data) != "mine" {
		t.Errorf("what another wrote is %q, %v", data, err)
	}
	if got := files(t, dir); !strings.Contains(got, "chat.json.db") {
		t.Errorf("the folder has %s", got)
	}
}

func TestExportedSessionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{":             "line 1",
		"\n\"hunter2\"": "line 2 contains a secret of this machine",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "chat.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), store.Exported(file), mask); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		if data, err := os.ReadFile(file); string(data) != text || files(t, dir) != "chat.json" {
			t.Errorf("the folder has %s, %v", files(t, dir), err)
		}
	}
}
