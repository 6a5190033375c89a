package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/kernel"
)

// bothSee are folders that both workers see.
func bothSee(t *testing.T) [2][]coordinator.Folder {
	t.Helper()
	both := []coordinator.Folder{{Key: "cwd", Dir: t.TempDir()}, {Key: "snapshot_storage", Dir: t.TempDir(), ByPath: true}}
	return [2][]coordinator.Folder{both, both}
}

// callOf says that an effect is one of the two tool calls of agent a.
func callOf(w work, step int) bool {
	return w.Effect.Tool != nil && !w.Effect.Tool.IsSnapshot() && w.Effect.Tool.Name == []string{"write", "read"}[step]
}

// checkEnd says that the turn has the result of one without a loss, and repeats no request but
// those that were lost.
func (f *fleet) checkEnd(o outcome, lost int) {
	f.t.Helper()
	if o.status != kernel.Completed || o.winner != "a" || o.answer != "a says: the sun." {
		f.t.Errorf("%s, %s has won with %q", o.status, o.winner, o.answer)
	}
	if again := f.repeated(); len(f.backend.calls) != 7 || len(again) != lost || o.lost != lost {
		f.t.Errorf("%d calls, of which %v were made again, and %d are lost in the journal; want 7 and %d", len(f.backend.calls), again, o.lost, lost)
	}
	if f.done["look"] != 1 || !slices.Equal(o.tools["b"], []string{"ran: did look"}) {
		f.t.Errorf("agent b has looked %d times: %q", f.done["look"], o.tools["b"])
	}
}

// TestToolsGoOnAtAnotherWorker that sees their folders, when theirs is lost between two calls
// or in one: a call that was under way is not made again.
func TestToolsGoOnAtAnotherWorker(t *testing.T) {
	const ran, unknown = "ran: did ", "interrupted: unknown: interrupted: "
	for name, c := range map[string]struct {
		lose loss
		at   int // the call
		want []string
		by   map[string]int // worker, by call
	}{
		"nothing is lost":    {none, 0, []string{ran + "write", ran + "read"}, map[string]int{"write": 0, "read": 0}},
		"before the first":   {before, 0, []string{ran + "write", ran + "read"}, map[string]int{"write": 1, "read": 1}},
		"between two calls":  {before, 1, []string{ran + "write", ran + "read"}, map[string]int{"write": 0, "read": 1}},
		"in a call":          {after, 0, []string{unknown, ran + "read"}, map[string]int{"write": 0, "read": 1}},
		"in the second call": {after, 1, []string{ran + "write", unknown}, map[string]int{"write": 0, "read": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, bothSee(t))
			f.lose = func(_ string, w work) loss {
				if callOf(w, c.at) {
					return c.lose
				}
				return none
			}
			o := f.play()
			f.checkEnd(o, 0)
			if !slices.EqualFunc(o.tools["a"], c.want, strings.HasPrefix) || f.done["write"] != 1 || f.done["read"] != 1 {
				t.Errorf("%v: %q, want %q", f.done, o.tools["a"], c.want)
			}
			delete(f.at, "look")
			if !maps.Equal(f.at, c.by) || !strings.Contains(o.kept, "/kept") {
				t.Errorf("by the workers %v, want %v; the workspace is kept at %s", f.at, c.by, o.kept)
			}
			f.checkUnmarked()
		})
	}
}

// checkUnmarked says that nothing was left in folders that the second worker sees.
func (f *fleet) checkUnmarked() {
	f.t.Helper()
	for _, folders := range f.workers[1].panel.Folders() {
		for _, folder := range folders {
			if left, err := filepath.Glob(filepath.Join(folder.Dir, ".massgen*")); err != nil || len(left) > 0 {
				f.t.Errorf("left are %v, %v", left, err)
			}
		}
	}
}

// TestToolsThatCannotGoOn: the agent is told which folder no other worker sees, and no other
// folder is taken for it. An agent without folders goes on elsewhere.
func TestToolsThatCannotGoOn(t *testing.T) {
	for i, key := range []string{"cwd", "snapshot_storage"} {
		t.Run(key, func(t *testing.T) {
			folders := bothSee(t)
			folders[1] = slices.Clone(folders[1])
			folders[1][i].Dir = t.TempDir()
			f := newFleet(t, folders)
			f.lose = func(_ string, w work) loss {
				if callOf(w, 1) {
					return before
				}
				return none
			}
			f.late = func(w work) bool { return w.Effect.Tool != nil && w.Effect.Tool.Name == "look" }
			o := f.play()
			f.checkEnd(o, 0)
			why := "the worker on which the tools and files of a were is lost, and no other one that was asked sees the same folder (" + key + ")"
			want := []string{"ran: did write", "interrupted: Error: " + why + ". Go on without them."}
			if diff := cmp.Diff(want, o.tools["a"]); diff != "" || f.done["read"] != 0 || o.kept != why {
				t.Errorf("agent a has read %d times, the workspace: %q; its calls (-want +got):\n%s", f.done["read"], o.kept, diff)
			}
			if f.at["look"] != 1 {
				t.Errorf("worker %d has looked", f.at["look"])
			}
		})
	}
}

// TestWorkerIsLostAfterEachActivity: what was done, and nobody has heard of, is done again. The
// turn is begun and ended once all the same; a call of a model is made twice, and is in the
// journal as lost.
func TestWorkerIsLostAfterEachActivity(t *testing.T) {
	const activities = 9 // the beginning, seven calls of models, and the end
	for nth := range activities {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			f := newFleet(t, bothSee(t))
			asked, wasCall := 0, false
			f.lose = func(_ string, w work) loss {
				if w.Effect.Tool != nil {
					return none
				}
				if asked++; asked == nth+1 {
					wasCall = w.Effect.Model != nil
					return after
				}
				return none
			}
			o := f.play()
			if isCall := nth > 0 && nth < activities-1; isCall != wasCall || asked != activities+1 {
				t.Errorf("%d activities, and it is a call: %v", asked, wasCall)
			}
			lost := 0
			if wasCall {
				lost = 1
			}
			f.checkEnd(o, lost)
			if want := []string{"ran: did write", "ran: did read"}; !slices.Equal(o.tools["a"], want) || f.done["write"] != 1 || f.done["read"] != 1 {
				t.Errorf("%v: %q", f.done, o.tools["a"])
			}
		})
	}
}
