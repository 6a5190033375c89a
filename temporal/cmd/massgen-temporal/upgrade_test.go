package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/temporal/postgres"
)

// releaseBefore is the last commit whose workers know neither --drain nor migrate.
const releaseBefore = "02ca30cb"

// built returns massgen-temporal of a commit of this repository. Where the commit is not there, as in an archive
// of the sources, scripts/temporal.sh leaves the test out.
func built(t testing.TB, commit string) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	ok(t, err)
	git := func(args ...string) *exec.Cmd {
		return exec.Command("git", append([]string{"-C", root}, args...)...)
	}
	if out, err := git("cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Fatalf("commit %s is not in the history of this copy: git fetch --unshallow has all of it: %v: %s", commit, err, out)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "sources.tar")
	sources := filepath.Join(dir, "sources")
	ok(t, os.Mkdir(sources, 0o700))
	for _, run := range []*exec.Cmd{
		git("archive", "--output", archive, commit), exec.Command("tar", "-xf", archive, "-C", sources),
		exec.Command("go", "build", "-C", filepath.Join(sources, "temporal"), "-trimpath", "-buildvcs=false", "-o", filepath.Join(dir, "massgen-temporal"), "./cmd/massgen-temporal"),
	} {
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", run, err, out)
		}
	}
	return filepath.Join(dir, "massgen-temporal")
}

// by is the same world whose programs are of another build.
func (w *world) by(program string) *world {
	other := *w
	other.program = program
	return &other
}

// steady asks one question after the other, several at a time, of a server that may change.
type steady struct {
	*load
	at    atomic.Pointer[served]
	count atomic.Int32
	stop  chan struct{}
	all   sync.WaitGroup
}

func (w *world) steady(l *load, askers int, first *served) *steady {
	s := &steady{load: l, stop: make(chan struct{})}
	s.at.Store(first)
	for range askers {
		s.all.Go(func() {
			for {
				select {
				case <-s.stop:
					return
				default:
				}
				session := fmt.Sprintf("turn-%d-", s.count.Add(1))
				server := s.at.Load()
				server.pending.Add(1)
				if answer, err := server.answer(w.t.Context(), asks(session, questionOf(session))); err != nil || answer != winner {
					w.t.Errorf("session %s: %q, %v", session, answer, err)
				}
				server.pending.Add(-1)
			}
		})
	}
	return s
}

// more waits until so many more turns have begun.
func (s *steady) more(w *world, turns int32) {
	w.t.Helper()
	end := s.count.Load() + turns
	w.until("the load goes on", func() bool { return s.count.Load() >= end || w.t.Failed() })
}

// over ends the load, and checks that every call of every turn was made once.
func (s *steady) over(w *world, store *postgres.Store) {
	w.t.Helper()
	close(s.stop)
	s.all.Wait()
	turns := s.count.Load()
	for i := range turns {
		s.checkTurn(w.t, store, fmt.Sprintf("turn-%d-", i+1), 6)
	}
	if n := len(s.Calls()); n != 6*int(turns) || s.again() > 0 {
		w.t.Errorf("%d turns, %d calls, of which %d were made again", turns, n, s.again())
	}
	w.t.Logf("%d turns, %d calls", turns, len(s.Calls()))
}

// TestWorkersAreReplacedUnderLoad, one after the other: no call is made twice.
func TestWorkersAreReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := newLoad(t, 3*time.Second, agreeable)
	config := w.config(l.agents(3)...)
	old := []*process{w.worker("old1", config), w.worker("old2", config)}
	s := w.steady(l, 4, w.serve(config))
	for i, p := range old {
		s.more(w, 4)
		w.worker(fmt.Sprint("new", i+1), config)
		p.tell(t)
		p.ends(t)
	}
	s.more(w, 4)
	s.over(w, w.store())
}

// TestUpgradeFromTheReleaseBefore is an upgrade under load that migrates last: no call is made twice. The old
// program's workers cut their calls a second after they are told to end. So they are told when the turns of the
// old server are over: new workers play all turns that a new server begins.
func TestUpgradeFromTheReleaseBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.by(built(t, releaseBefore))
	l := newLoad(t, 3*time.Second, agreeable)
	config := w.config(l.agents(3)...)
	old := []*process{before.worker("old1", config), before.worker("old2", config)}
	server := before.serveIn("old-server", config)
	s := w.steady(l, 4, server)
	s.more(w, 4)
	for i := range old {
		w.worker(fmt.Sprint("new", i+1), config)
	}
	s.more(w, 4)
	s.at.Store(w.serveIn("new-server", config))
	s.more(w, 8) // all ask the new one
	w.until("the old server has answered all", func() bool { return server.pending.Load() == 0 })
	server.tell(t)
	server.ends(t)
	for _, p := range old {
		p.tell(t)
		p.ends(t)
	}
	s.more(w, 4)
	migration, err := postgres.Migrate(t.Context(), w.database, false)
	ok(t, err)
	if migration.To != sqlstore.Version {
		t.Errorf("%+v", migration)
	}
	w.worker("new3", config)
	s.more(w, 4)
	s.over(w, w.store())
	for _, word := range []string{"panic", "nondeterminis"} {
		for _, p := range old {
			if strings.Contains(p.stderr.String(), word) {
				t.Errorf("an old worker says %q", word)
			}
		}
	}
}
