package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// filesIn returns the files of a folder with what is in them.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			files[e.Name()] = "a folder"
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// oneTurn makes a store with a turn in it and returns its bytes.
func oneTurn(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	addTurn(t, s, "s")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if names := slices.Collect(maps.Keys(filesIn(t, filepath.Dir(path)))); len(names) != 1 {
		t.Errorf("a closed store leaves %v", names)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// foreign makes a database of another program, which has it open still, and
// returns the bytes of its file and its log.
func foreign(t *testing.T, statements string) (data, log []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statements+"; CREATE TABLE contacts (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if log, err = os.ReadFile(path + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return data, log
}

func TestFilesThatCannotBeUsedAreLeftAsTheyWere(t *testing.T) {
	t.Parallel()
	good := oneTurn(t)
	newer := slices.Clone(good)
	newer[63] = 99 // the last byte of user_version
	below, without := slices.Clone(good), slices.Clone(good)
	copy(below[60:64], "\xff\xff\xff\xff")
	copy(without[60:64], "\x00\x00\x00\x00")
	write := func(data []byte, mode os.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			if err := os.WriteFile(path, data, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	other, _ := foreign(t, "")
	inWAL, log := foreign(t, "PRAGMA journal_mode = WAL; CREATE TABLE before (x); PRAGMA wal_checkpoint")
	if len(log) == 0 {
		t.Fatal("the other program's database has no log")
	}
	schemaGone := slices.Clone(good)
	copy(schemaGone[100:4096], strings.Repeat("damage", 1000))
	for name, c := range map[string]struct {
		make func(*testing.T, string)
		want string
	}{
		"text":              {write([]byte(`{"role": "user", "content": "hello"}`+"\n"), 0o600), "is no store of massgen: name another file, or move this one away"},
		"long text":         {write([]byte(strings.Repeat("hello\n", 10_000)), 0o600), "is no store of massgen"},
		"one byte":          {write([]byte("x"), 0o600), "is no store of massgen"},
		"another program's": {write(other, 0o600), "is no store of massgen"},
		"another program's, open": {func(t *testing.T, path string) {
			t.Helper()
			write(inWAL, 0o600)(t, path)
			write(log, 0o600)(t, path+"-wal")
		}, "is no store of massgen"},
		"newer":                 {write(newer, 0o600), "was written by a newer massgen (it has version 99, and this one knows 7): update massgen"},
		"version below zero":    {write(below, 0o600), "is damaged: put a copy from before in its place, or move it away to begin a new one (its version is -1)"},
		"without a version":     {write(without, 0o600), "is damaged"},
		"cut by half":           {write(good[:len(good)/2], 0o600), "is damaged"},
		"cut by a page":         {write(good[:len(good)-4096], 0o600), "is damaged"},
		"cut to a page":         {write(good[:4096], 0o600), "is damaged"},
		"cut in the first page": {write(good[:1000], 0o600), "is damaged"},
		"cut in the header":     {write(good[:50], 0o600), "is damaged"},
		"damaged in the schema": {write(schemaGone, 0o600), "is damaged"},
		"cut, with a log": {func(t *testing.T, path string) {
			t.Helper()
			data, log := withLog(t)
			write(data[:len(data)/2], 0o600)(t, path)
			write(log, 0o600)(t, path+"-wal")
		}, "is damaged"},
		"read-only": {write(good, 0o400), "is read-only: make it writable (chmod u+w), or name another file"},
		"a folder": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is a folder: name a file in it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "sessions.db")
			c.make(t, path)
			before := filesIn(t, dir)
			s, err := sqlite.Open(t.Context(), path)
			if err == nil {
				t.Fatalf("it was opened: %v", s.Close())
			}
			for _, want := range []string{path, c.want} {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q, want one line with %q", err, want)
				}
			}
			if diff := cmp.Diff(before, filesIn(t, dir)); diff != "" {
				t.Errorf("files have changed (-before +after):\n%.2000s", diff)
			}
		})
	}
}

// withLog is a store in whose log are changes, as a process leaves it that is killed.
func withLog(t *testing.T) (data, log []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		addTurn(t, s, fmt.Sprint("s", i))
	}
	data, err = os.ReadFile(path)
	if err == nil {
		log, err = os.ReadFile(path + "-wal")
	}
	if err = errors.Join(err, s.Close()); err != nil || len(log) == 0 {
		t.Fatalf("a log of %d bytes, %v", len(log), err)
	}
	return data, log
}

// TestStoreWithALogIsOpened: what a killed process has left is no damage.
func TestStoreWithALogIsOpened(t *testing.T) {
	t.Parallel()
	data, log := withLog(t)
	path := filepath.Join(t.TempDir(), "sessions.db")
	for name, content := range map[string][]byte{path: data, path + "-wal": log} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), sessions.Filter{})
	if err = errors.Join(err, s.Close()); err != nil || len(list) != 10 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}

func TestFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(file, "sessions.db")
	if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line with %s", err, path)
	}
}

// TestDamageWithin has a file whose first page is good and whose others are not.
func TestDamageWithin(t *testing.T) {
	t.Parallel()
	data := oneTurn(t)
	path := filepath.Join(t.TempDir(), "sessions.db")
	for at := 4096; at+4096 <= len(data); at += 4096 {
		damaged := slices.Clone(data)
		copy(damaged[at:at+4096], strings.Repeat("damage", 1000))
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(t.Context(), path)
		if err == nil {
			err = errors.Join(s.Check(t.Context()), s.Close())
		}
		if err == nil || !strings.Contains(err.Error(), path+" is damaged") || strings.Contains(err.Error(), "\n") {
			t.Errorf("page %d: error %v, want one line that says what is damaged", at/4096, err)
		}
	}
}

func TestStoreIsMadeWhereThereIsNone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"made/for it/c.db", "odd ?name#with%20all;of&it=é.json", "empty.db"} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if name == "empty.db" {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for turn := 1; turn <= 2; turn++ {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			addTurn(t, s, "s")
			if n, err := s.Session(t.Context(), "s"); n.Turns != turn || err != nil {
				t.Errorf("%d turns, %v, want %d", n.Turns, err, turn)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v: %v", info, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if names := slices.Collect(maps.Keys(filesIn(t, filepath.Dir(path)))); len(names) != 1 {
			t.Errorf("a closed store leaves %v", names)
		}
	}
}

// TestOneFileByTwoNames begins two turns of one session, in stores that were
// opened by different names of one file.
func TestOneFileByTwoNames(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(s.Path(), link); err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := s.Begin(t.Context(), "s", "q"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Begin(t.Context(), "s", "q"); !errors.Is(err, sessions.ErrBusy) {
		t.Errorf("the same session by another name of the file: %v", err)
	}
}

func TestManyMakeOneStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "sessions.db")
	const all = 8
	errs := make(chan error, all)
	for range all {
		go func() {
			s, err := sqlite.OpenPatiently(context.WithoutCancel(t.Context()), path)
			if err == nil {
				_, err = s.AddFact(context.WithoutCancel(t.Context()), "u", "one fact")
				err = errors.Join(err, s.Close())
			}
			errs <- err
		}()
	}
	for range all {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	facts, err := s.Facts(t.Context(), "u")
	if len(facts) != 1 || err != nil {
		t.Errorf("%d facts, %v", len(facts), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
}

func TestDeletedTextsAreNotInTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	for _, id := range []string{"keep", "secret"} {
		for i := range 3 {
			b, err := s.Begin(t.Context(), id, "The password is xyzzyquestion"+id)
			if err != nil {
				t.Fatal(err)
			}
			if err := writeTurn(t.Context(), s, id, b.Turn, strings.Repeat("xyzzyanswer"+id+" ", 500*i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.AddFact(t.Context(), id, "xyzzyfact"+id); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), "secret"); err != nil {
		t.Fatal(err)
	}
	facts, err := s.Facts(t.Context(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(t.Context(), facts[0].ID); err != nil {
		t.Fatal(err)
	}
	for name, data := range filesIn(t, filepath.Dir(s.Path())) { // nothing is closed yet
		for _, word := range []string{"xyzzyquestion", "xyzzyanswer", "xyzzyfact"} {
			if strings.Contains(strings.ToLower(data), word+"secret") {
				t.Errorf("%s still has %ssecret", name, word)
			}
			if name == "sessions.db" && !strings.Contains(data, word+"keep") {
				t.Errorf("%s has lost %skeep", name, word)
			}
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Session(t.Context(), "secret"); !errors.Is(err, sessions.ErrNoSession) {
		t.Error(err)
	}
}
