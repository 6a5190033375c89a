package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// simulate plays one turn and returns what was said and journaled, and what was wrong.
func simulate(t *testing.T, c *choices) (transcript, wrong string) {
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{choices: c, plan: drawPlan(c), store: &faulty{Store: sessions.NewMemory(), done: map[effect.Key]bool{}}}
		r := s.play(t.Context())
		if s.failure == "" {
			s.check(t.Context(), r)
		}
		transcript, wrong = s.log.String(), s.failure
	})
	return transcript, wrong
}

// check looks at how a turn has ended.
func (s *simulation) check(ctx context.Context, r report.Result) {
	said, err := json.Marshal(r)
	if err != nil {
		s.fail("%v", err)
	}
	journal, err := s.store.Journal(ctx, "s", r.Turn, 0)
	if err != nil {
		s.fail("%v", err)
	}
	tools := sentTools{s: s, asked: map[effect.Key][]string{}}
	var m turn.Machine
	var events []turn.Event
	for i, data := range journal {
		fmt.Fprintf(&s.log, "%s\n", data)
		var commands []turn.Command
		ev, err := turn.Decode(data)
		if err == nil {
			commands, err = m.Apply(ev)
		}
		if err == nil {
			err = tools.follow(ctx, ev, commands)
		}
		if err != nil {
			s.fail("event %d of the journal: %v", i+1, err)
			return
		}
		events = append(events, ev)
	}
	fmt.Fprintf(&s.log, "%s\n", said)
	s.checkNotes(events, r)
	s.checkDismissals(events, r)
	k := m.Result()
	switch {
	case !m.Over():
		s.fail("the turn has ended, and its journal has not")
	case k.Status != r.Status || (k.Winner != nil) != (r.Winner != ""):
		s.fail("the result is %s by %q, the journal's %s by %v", r.Status, r.Winner, k.Status, k.Winner)
	case r.Status == kernel.AllFailed && r.Answer != "" || r.Status == kernel.Completed && r.Winner == "":
		s.fail("the result is %+v", r)
	case s.plan.budget > 0 && (r.Budget == nil || r.Budget.SpentUSD > s.plan.budget+1e-6 || r.Budget.SpentUSD < s.spent-1e-6):
		s.fail("%.3f may have been billed of %.3f, and the result says %+v", s.spent, s.plan.budget, r.Budget)
	}
	s.checkReplay(ctx, r)
	if open, err := s.store.Interrupted(ctx, "s"); err != nil || len(open) > 0 {
		s.fail("after the end: %v, %v", open, err)
	}
}

// seeds is how many are simulated, from the first on: SEEDS and FIRST_SEED in the
// environment, else some for each run of the tests.
func seeds(t *testing.T) (first, count uint64) {
	read := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	return read("FIRST_SEED", 1), read("SEEDS", 300)
}

// TestSimulation plays turns under all that can happen to one, several at once. A seed that
// fails is told, with the fewest choices that still fail.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, count := seeds(t)
	var mu sync.Mutex
	ended := map[kernel.Status]int{}
	t.Run("seeds", func(all *testing.T) {
		parts := uint64(runtime.GOMAXPROCS(0))
		for part := range parts {
			all.Run(fmt.Sprint("part ", part), func(t *testing.T) {
				t.Parallel()
				for seed := first + part; seed < first+count && !all.Failed(); seed += parts {
					status := simulateSeed(t, seed)
					mu.Lock()
					ended[status]++
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d seeds from %d on: %v", count, first, ended)
}

// simulateSeed plays the turn of a seed, every tenth one twice, and returns how it ended.
func simulateSeed(t *testing.T, seed uint64) kernel.Status {
	t.Helper()
	c := seeded(seed)
	transcript, wrong := simulate(t, c)
	if wrong != "" {
		tellFailure(t, seed, c.made, wrong)
	}
	var r report.Result
	if err := json.Unmarshal([]byte(lastLine(transcript)), &r); err != nil {
		t.Fatal(err)
	}
	if seed%10 == 0 {
		if again, _ := simulate(t, seeded(seed)); again != transcript {
			t.Fatalf("seed %d leads to two transcripts (-first +second):\n%s", seed, cmp.Diff(strings.Split(transcript, "\n"), strings.Split(again, "\n")))
		}
	}
	return r.Status
}

func tellFailure(t *testing.T, seed uint64, made []int, wrong string) {
	t.Helper()
	least := reduce(made, func(list []int) bool {
		_, wrong := simulate(t, listed(list))
		return wrong != ""
	})
	transcript, reduced := simulate(t, listed(least))
	t.Fatalf("seed %d (FIRST_SEED=%d SEEDS=1 plays it again): %s\n\nreduced from %d choices to %d, %v: %s\n%s",
		seed, seed, wrong, len(made), len(least), least, reduced, transcript)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
