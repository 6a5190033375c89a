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
func leastOf(t *testing.T, panel *massgen.Panel) (least allocated) {
	t.Helper()
	for i := range 4 {
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
// it. The limits have a quarter to spare above what was seen with the race detector on a busy
// machine. A fifth of it is for streaming: each reply's reader, and the pieces that a view keeps.
func TestWhatATurnAllocates(t *testing.T) {
	limits := map[int]allocated{3: {2_600, 328_000}, 100: {66_900, 8_600_000}, 1000: {653_000, 88_300_000}}
	seen := map[int]allocated{}
	for agents, most := range limits {
		seen[agents] = leastOf(t, panelOf(t, agents))
		if a := seen[agents]; a.objects > most.objects || a.bytes > most.bytes {
			t.Errorf("a turn of %d agents allocates %+v, and is to allocate %+v at most", agents, a, most)
		}
	}
	if growth := float64(seen[1000].bytes) / float64(seen[100].bytes); growth > 11 {
		t.Errorf("a turn of 1,000 agents allocates %.1f times what one of 100 does, and is to allocate 11 times that at most", growth)
	}
}
