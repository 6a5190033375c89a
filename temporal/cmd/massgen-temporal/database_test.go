package main

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/sessions"
)

// withAnotherDatabase is the same world for programs that are given another database.
func (w *world) withAnotherDatabase() *world {
	w.t.Helper()
	other := *w
	other.database = newDatabase(w.t)
	return &other
}

// refused waits for a program that must fail, with one line that has all these words.
func (p *process) refused(t testing.TB, words ...string) {
	t.Helper()
	<-p.ended
	said := p.stderr.String()
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("no %q in %s", word, said)
		}
	}
	if p.ProcessState.ExitCode() == 0 || strings.Count(said, "massgen: ") != 1 {
		t.Errorf("exit status %d: %s", p.ProcessState.ExitCode(), said)
	}
}

// TestWorkersOfAnotherDatabase play no turn of a client, also beside workers that do.
func TestWorkersOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.withAnotherDatabase()
	s := newService(t, agreeable)
	config := w.config(s.agents(3)...)
	if said := other.worker("other worker", config).stderr.String(); strings.Count(said, "massgen: made a new store in postgres on ") != 1 {
		t.Errorf("a worker that made the tables said: %s", said)
	}
	theirs, _ := other.store().Database()
	mine, _ := w.store().Database()
	w.ask(config, "energy?").refused(t, "have the database postgres on ", "(id "+theirs+"), and this program has postgres on ",
		"(id "+mine+"): give them and this program the same (--database)")
	if n := len(s.Calls()); n != 0 {
		t.Errorf("the models were asked %d times", n)
	}
	w.worker("worker", config)
	for range 5 {
		if r := w.result(w.ask(config, "energy?")); r.Status != "completed" {
			t.Error(r.Status)
		}
	}
	if list, err := other.store().List(t.Context(), sessions.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("the other database has %d sessions, %v", len(list), err)
	}
}

// TestSessionsOfTwoDatabases that have the same name: nobody watches, or writes to, the turn of
// the other database.
func TestSessionsOfTwoDatabases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.withAnotherDatabase()
	s, client, _, config := w.inMidTurn("worker")
	other.worker("other worker", config)
	const refusal = `a turn of another database has the session "s" on the queue`
	other.ask(config, "and you?").refused(t, refusal)
	other.note("In French").refused(t, refusal)
	s.free()
	r := w.result(client)
	w.checkUnrepeated(s, r, 0)
	if len(r.Notes) != 0 {
		t.Errorf("the turn has the notes %v", r.Notes)
	}
	if r := w.result(other.ask(config, "and you?")); r.Status != "completed" { // the name is free
		t.Error(r.Status)
	}
}
