package tests_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/massgen/massgen"
)

// allocated is what a turn allocates.
type allocated struct{ objects, bytes uint64 }

// leastOf is the least that one of some turns allocates, each in a session of its own: what
// else goes on in the process only ever adds to it.
func leastOf(t *testing.T, panel *massgen.Panel, agents int) (least allocated) {
	t.Helper()
	for i := range 4 + 30/agents { // a small turn is soon disturbed
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		turn, err := panel.Ask(t.Context(), fmt.Sprint("session-", i), "What is the cheapest source of energy?")
		if err != nil {
			t.Fatal(err)
		}
		if result, err := turn.Wait(t.Context()); err != nil || result.Status != "completed" {
			t.Fatal(result.Status, err)
		}
		runtime.ReadMemStats(&after)
		a := allocated{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc}
		if i == 0 || a.bytes < least.bytes {
			least = a
		}
	}
	return least
}

// panelOf is a panel of agents that agree at once.
func panelOf(t *testing.T, agents int) *massgen.Panel {
	t.Helper()
	members := make([]massgen.Agent, agents)
	for i := range members {
		members[i] = massgen.Agent{ID: fmt.Sprintf("agent-%d", i), Model: "mock", Backend: mock(agrees)}
	}
	panel, err := massgen.New(t.Context(), members)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := panel.Close(); err != nil {
			t.Error(err)
		}
	})
	return panel
}

// A turn allocates for each agent, and for each answer once: not for each agent that is shown
// it. The limits are a twentieth above what was seen with the race detector, which adds a
// seventh.
func TestWhatATurnAllocates(t *testing.T) {
	limits := map[int]allocated{3: {2_150, 250_000}, 100: {56_000, 7_000_000}, 1000: {555_000, 73_000_000}}
	seen := map[int]allocated{}
	for agents, most := range limits {
		seen[agents] = leastOf(t, panelOf(t, agents), agents)
		if a := seen[agents]; a.objects > most.objects || a.bytes > most.bytes {
			t.Errorf("a turn of %d agents allocates %+v, and is to allocate %+v at most", agents, a, most)
		}
	}
	if growth := float64(seen[1000].bytes) / float64(seen[100].bytes); growth > 11 {
		t.Errorf("a turn of 1,000 agents allocates %.1f times what one of 100 does, and is to allocate 11 times that at most", growth)
	}
}
