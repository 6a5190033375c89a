package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// checkedScript is fleetScript with a first answer of agent a that fails the check.
var checkedScript = strings.Replace(fleetScript, "  - {when: {round: 1},", `  - {when: {agent: a, round: 1, index: 2}, reply: {new_answer: "{{.Agent}} says: the moon."}}
  - {when: {round: 1},`, 1)

// newCheckedFleet is a fleet that checks each answer by a command, which only the sun passes.
func newCheckedFleet(t *testing.T) *fleet {
	t.Helper()
	return newFleetOf(t, checkedScript, func(f *fleet) {
		f.rules.Check = kernel.CheckRequired
		f.change = func(o *coordinator.Options) {
			o.Check = &effect.Check{Command: []string{"judge"}, Tries: 2}
			o.RunCheck = func(_ context.Context, _ []string, _, answer string, _ time.Duration) (int, string, error) {
				f.tools.Lock()
				defer f.tools.Unlock()
				f.done["check of "+answer]++
				if !strings.Contains(answer, "sun") {
					return 1, "it is no star", nil
				}
				return 0, "", nil
			}
		}
	})
}

// TestCheckIsMadeAgain: any worker may make a check again, whose result was lost. So a loss changes
// neither the checks nor the turn, and a check with a kept result is made once.
func TestCheckIsMadeAgain(t *testing.T) {
	const first, second = "a says: the moon.", "a says: the sun."
	for name, c := range map[string]struct {
		lose  loss
		of    string // the answer whose check is lost
		times int    // it is made
	}{
		"nothing is lost":       {none, first, 1},
		"before the first":      {before, first, 1},
		"in the first":          {during, first, 2},
		"after the first":       {after, first, 1},
		"the first fails":       {broken, first, 2},
		"the server's word":     {untold, first, 1},
		"the worker's word":     {unkept, first, 2},
		"before the second":     {before, second, 1},
		"in the second":         {during, second, 2},
		"after the second":      {after, second, 1},
		"of the second, a word": {unkept, second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newCheckedFleet(t)
			checks, isLost := 0, false
			f.lose = func(_ string, w work) loss {
				if w.Effect.Tool == nil || !w.Effect.Tool.IsCheck() || w.Effect.Tool.Key.Agent != 0 || isLost {
					return none
				}
				if checks++; checks != 1+slices.Index([]string{first, second}, c.of) {
					return none
				}
				isLost = true
				return c.lose
			}
			o := f.play()
			want := []string{`{"passed":false,"exit":1,"output":"it is no star"}`, `{"passed":true,"exit":0,"output":""}`}
			if o.status != kernel.Completed || o.winner != "a" || o.answer != second || !slices.Equal(o.checks, want) {
				t.Errorf("%s, %s has won with %q; the checks of a: %q", o.status, o.winner, o.answer, o.checks)
			}
			made := map[string]int{first: 1, second: 1, "b says: the sun.": 1}
			made[c.of] = c.times
			for answer, times := range made {
				if got := f.done["check of "+answer]; got != times {
					t.Errorf("the check of %q was made %d times, not %d", answer, got, times)
				}
			}
			if again := f.repeated(); len(f.backend.calls) != 8 || len(again) > 0 {
				t.Errorf("%d calls of models, of which were made again: %s", len(f.backend.calls), fmt.Sprint(again))
			}
		})
	}
}
