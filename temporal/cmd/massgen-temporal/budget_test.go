package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/tests/backendtest"
)

// reservations counts the attempts in the journal of a turn that have asked for budget.
func reservations(t testing.TB, store journals, turn int) (n int) {
	events, err := store.Journal(t.Context(), "s", turn, 0)
	if err != nil { // it has not begun
		return 0
	}
	for _, ev := range events {
		if bytes.HasPrefix(ev, []byte(`{"type":"reserving"`)) {
			n++
		}
	}
	return n
}

// scarce plays a turn of so many agents, of whose calls one or two at a time fit into a
// budget of tokens. No call is answered before all agents have asked for theirs.
func (w *world) scarce(agents, tokens int, reply func(backendtest.Call) backendtest.Reply) (report.Result, *service) {
	w.t.Helper()
	s := newService(w.t, reply)
	s.held = func(backendtest.Call) bool { return true }
	lines := s.agents(agents, fmt.Sprintf("budget: {max_tokens: %d}", tokens))
	for i, line := range lines {
		lines[i] = strings.Replace(line, ", model:", ", max_tokens: 4000, model:", 1)
	}
	config := w.config(lines...)
	w.worker("worker1", config)
	w.worker("worker2", config)
	client := w.ask(config, "energy?")
	store := w.store()
	w.until("all agents have asked for budget", func() bool { return reservations(w.t, store, 1) == agents })
	s.free()
	return w.result(client), s
}

// Of some panels more attempts wait for the budget than a workflow may have updates under way.
// Each of them costs little in the end, so that all can be made.
func TestAgentsWaitForTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, agents := range map[string]int{"a few wait": 3, "many wait": 16} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			r, s := w.scarce(agents, 4000+400*agents, agreeable)
			if r.Status != "completed" || r.Usage.Calls != 2*agents || len(s.Calls()) != 2*agents || len(r.Failed) > 0 {
				t.Errorf("%s after %d calls of %d, failed: %v", r.Status, len(s.Calls()), 2*agents, r.Failed)
			}
			if agents < 10 {
				w.checkHistories(name)
			}
		})
	}
}

// The first call costs so much that the others never fit, however short: the turn ends when all
// of them wait.
func TestManyAgentsWaitForABudgetThatIsSpent(t *testing.T) {
	t.Parallel()
	r, s := newWorld(t).scarce(16, 5000, func(c backendtest.Call) backendtest.Reply {
		reply := agreeable(c)
		reply.Usage = &backends.Usage{InputTokens: 900, OutputTokens: 3900}
		return reply
	})
	if r.Status != "budget" || len(s.Calls()) != 1 {
		t.Errorf("%s after %d calls", r.Status, len(s.Calls()))
	}
}
