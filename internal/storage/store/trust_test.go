package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/massgen/massgen/internal/storage/store"
)

// project goes to a project that has a folder for sessions, and returns the environment of a user.
func project(t *testing.T) func(name string) (string, bool) {
	t.Helper()
	t.Chdir(t.TempDir())
	must(t, os.Mkdir(store.OwnFolder, 0o700))
	home := t.TempDir()
	return func(name string) (string, bool) {
		if name == "XDG_STATE_HOME" {
			return home, true
		}
		return "", false
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begin opens the default store and writes to it.
func begin(t *testing.T, lookup func(string) (string, bool), fact string) (*store.Store, error) {
	t.Helper()
	place, err := store.Default(lookup)
	must(t, err)
	opened, err := store.Open(t.Context(), place, func(text string) string { return text })
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { must(t, opened.Close()) })
	_, err = opened.Sessions.AddFact(t.Context(), "user", fact)
	return opened, err
}

func at(name string) string { return filepath.Join(store.OwnFolder, name) }

// What SQLite would follow beside a trusted store is as foreign as another store.
func TestWhatComesBesideAStoreIsForeign(t *testing.T) {
	for name, plant := range map[string]func(file string) error{
		"sessions.db-journal": func(file string) error { return os.WriteFile(file, []byte("foreign"), 0o600) },
		"sessions.db-wal":     func(file string) error { return os.WriteFile(file, []byte("foreign"), 0o600) },
		"sessions.db-shm":     func(file string) error { return os.Symlink(os.DevNull, file) },
		"snapshots":           func(file string) error { return os.Symlink(t.TempDir(), file) },
		"sessions.db": func(file string) error {
			return errors.Join(os.Remove(file), os.WriteFile(file, []byte("foreign"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			lookup := project(t)
			first, err := begin(t, lookup, "first")
			must(t, err)
			must(t, first.Close())
			must(t, plant(at(name)))
			if _, err := begin(t, lookup, "second"); !errors.Is(err, store.ErrUntrusted) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The log that a killed process has left is the user's own, and one that takes its place is not.
func TestLogOfAKilledProcessIsTrusted(t *testing.T) {
	lookup := project(t)
	_, err := begin(t, lookup, "first")
	must(t, err)
	before, err := os.Stat(at("sessions.db-wal"))
	must(t, err)
	if before.Size() == 0 {
		t.Fatal("the log is empty: this shows nothing")
	}
	_, err = begin(t, lookup, "second")
	must(t, err)
	must(t, os.Rename(at("sessions.db-wal"), at("old")))
	must(t, os.WriteFile(at("sessions.db-wal"), []byte("foreign"), 0o600))
	if _, err := begin(t, lookup, "third"); !errors.Is(err, store.ErrUntrusted) {
		t.Errorf("error %v", err)
	}
}

// A folder in which no store came about is not trusted for what comes into it later.
func TestFailureIsNotTrusted(t *testing.T) {
	lookup := project(t)
	place, err := store.Default(lookup)
	must(t, err)
	must(t, os.Mkdir(at(store.File+"-lock-new"), 0o700)) // no store can be made
	if _, err := store.Open(t.Context(), place.Trusted(), nil); err == nil {
		t.Fatal("it could be opened")
	}
	must(t, os.Remove(at(store.File+"-lock-new")))
	must(t, os.WriteFile(at(store.File), []byte("foreign"), 0o600))
	if _, err := begin(t, lookup, "a fact"); !errors.Is(err, store.ErrUntrusted) {
		t.Errorf("error %v", err)
	}
}

// Processes that start at once take none of each other's files for foreign, also where the last
// of them removes the log when it ends.
func TestManyOpenAProjectsStore(t *testing.T) {
	lookup := project(t)
	place, err := store.Default(lookup)
	must(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				opened, err := store.Open(t.Context(), place, func(text string) string { return text })
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := opened.Sessions.AddFact(t.Context(), "user", "a fact"); err != nil {
					t.Error(err)
				}
				if err := opened.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// While a process opens a store, its log is not yet known to be the user's: others wait.
func TestOneProcessOpensAtATime(t *testing.T) {
	lookup := project(t)
	place, err := store.Default(lookup)
	must(t, err)
	must(t, place.Check(t.Context()))
	home, _ := lookup("XDG_STATE_HOME")
	locks, err := filepath.Glob(filepath.Join(home, "massgen", "trusted", "*.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}
	other := flock.New(locks[0])
	must(t, other.Lock())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := place.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	must(t, other.Unlock())
	must(t, place.Check(t.Context()))
}
