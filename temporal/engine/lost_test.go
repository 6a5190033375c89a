package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

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
}

// TestToolsAreLostWithTheirWorker, before a call, in one or after one that nobody has heard
// of: no call is made again, one that was done keeps its result, and the agent is told.
func TestToolsAreLostWithTheirWorker(t *testing.T) {
	const ran = "ran: did "
	lost := func(more string) string {
		return "interrupted: Error: the worker on which the tools and files of a were is lost" + more + ". Go on without them."
	}
	unknown := lost(", and what this call has done is not known")
	for name, c := range map[string]struct {
		lose loss
		at   int // the call
		want []string
	}{
		"nothing is lost":     {none, 0, []string{ran + "write", ran + "read"}},
		"before the first":    {before, 0, []string{lost(""), lost("")}},
		"between two calls":   {before, 1, []string{ran + "write", lost("")}},
		"in a call":           {during, 0, []string{unknown, lost("")}},
		"in the second call":  {during, 1, []string{ran + "write", unknown}},
		"after a call":        {after, 0, []string{ran + "write", lost("")}},
		"after the last call": {after, 1, []string{ran + "write", ran + "read"}},
		"it has drained":      {drained, 0, []string{lost(""), lost("")}},
		"after one of two":    {drained, 1, []string{ran + "write", lost("")}},
		"the server's word":   {untold, 0, []string{ran + "write", ran + "read"}},
		"its second word":     {untold, 1, []string{ran + "write", ran + "read"}},
		"the worker's word":   {unkept, 0, []string{"interrupted: Error: this call was cut off, and what it has done is not known.", ran + "read"}},
		"a call is cut off":   {broken, 0, []string{"interrupted: Error: this call was cut off, and what it has done is not known.", ran + "read"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			isLost := false
			f.lose = func(_ string, w work) loss {
				if callOf(w, c.at) && !isLost {
					isLost = true
					return c.lose
				}
				return none
			}
			o := f.play()
			f.checkEnd(o, 0)
			if diff := cmp.Diff(c.want, o.tools["a"]); diff != "" || f.done["write"] > 1 || f.done["read"] > 1 {
				t.Errorf("%v (-want +got):\n%s", f.done, diff)
			}
			want := "the worker on which the tools and files of a were is lost"
			if !f.isGone() {
				want = "/kept"
			}
			if !strings.Contains(o.kept, want) {
				t.Errorf("the workspace is kept at %s", o.kept)
			}
			if want := []string{"ran: did look"}; !slices.Equal(o.tools["b"], want) || f.done["look"] != 1 {
				t.Errorf("agent b has looked %d times: %q", f.done["look"], o.tools["b"])
			}
		})
	}
}

// TestSignedWorkerIsKilled: its sign of life is gone, so nobody waits for it to answer.
func TestSignedWorkerIsKilled(t *testing.T) {
	for name, c := range map[string]struct {
		lose loss
		want string
	}{
		"before a call": {before, "the worker on which the tools and files of a were is lost. Go on without them."},
		"in a call":     {during, "the worker on which the tools and files of a were is lost, and what this call has done is not known. Go on without them."},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleetOf(t, fleetScript, func(f *fleet) { f.signed = true })
			f.lose = func(_ string, w work) loss {
				if callOf(w, 0) {
					return c.lose
				}
				return none
			}
			o := f.play()
			f.checkEnd(o, 0)
			if first := o.tools["a"][0]; first != "interrupted: Error: "+c.want {
				t.Error(first)
			}
		})
	}
}

// TestCallThatWaitsForALostWorker is lost with it, although it is another agent's.
func TestCallThatWaitsForALostWorker(t *testing.T) {
	f := newFleet(t)
	f.lose = func(_ string, w work) loss {
		if callOf(w, 1) {
			return before
		}
		return none
	}
	f.late = func(w work) bool { return w.Effect.Tool != nil && w.Effect.Tool.Name == "look" }
	close(f.looked) // it never comes to that
	o := f.play()
	f.checkEnd(o, 0)
	want := []string{"interrupted: Error: the worker on which the tools and files of b were is lost. Go on without them."}
	if !slices.Equal(o.tools["b"], want) || f.done["look"] != 0 {
		t.Errorf("agent b has looked %d times: %q", f.done["look"], o.tools["b"])
	}
}

// TestWorkerIsLost in each activity, or after it, when nobody has heard of what was done: the
// turn is begun and ended once all the same. A call of a model whose result was kept is not
// made again; another one is made twice, and is in the journal as lost, but for one of which
// no worker has heard.
func TestWorkerIsLost(t *testing.T) {
	const activities = 9 // the beginning, seven calls of models, and the end
	for nth := range activities {
		for _, l := range []loss{during, after, untold} {
			isCall := nth > 0 && nth < activities-1
			if !isCall && l != after { // the environment cannot stop these half way
				continue
			}
			t.Run(fmt.Sprint(nth, l), func(t *testing.T) {
				f := newFleet(t)
				asked, wasCall := 0, false
				f.lose = func(_ string, w work) loss {
					if w.Effect.Tool != nil {
						return none
					}
					if asked++; asked == nth+1 {
						wasCall = w.Effect.Model != nil
						return l
					}
					return none
				}
				o := f.play()
				lost := 0
				if isCall && l == during {
					lost = 1
				}
				again := lost
				if !isCall || l == untold {
					again = 1
				}
				if isCall != wasCall || asked != activities+again {
					t.Errorf("%d activities, and it is a call: %v", asked, wasCall)
				}
				f.checkEnd(o, lost)
				if want := []string{"ran: did write", "ran: did read"}; !slices.Equal(o.tools["a"], want) || f.done["write"] != 1 || f.done["read"] != 1 {
					t.Errorf("%v: %q", f.done, o.tools["a"])
				}
			})
		}
	}
}

// TestFirstCallOfANewRunIsLost: a call that one run has prepared and the next has begun is made again like any other.
func TestFirstCallOfANewRunIsLost(t *testing.T) {
	const script = `
rules:
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} says: the sun."}}
  - {when: {}, reply: {vote: {agent: agent1, reason: clear}}}
`
	plain := func(f *fleet) {
		f.change = func(o *coordinator.Options) {
			for i := range o.Agents {
				o.Agents[i].Tools, o.Agents[i].Snapshot = nil, nil
			}
		}
	}
	first := newFleetOf(t, script, plain)
	first.SetContinueAsNewSuggested(true)
	first.ExecuteWorkflow(workflowName, first.request())
	var next *workflow.ContinueAsNewError
	if err := first.GetWorkflowError(); !errors.As(err, &next) {
		t.Fatal(err)
	}
	var in request
	first.check(converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	second := newFleetOf(t, script, func(f *fleet) {
		plain(f)
		f.store = first.store
	})
	isPrepared := func(w work) bool {
		return slices.ContainsFunc(in.Played.Ready, func(ready work) bool { return w.Effect.Model != nil && ready.Parcel.Key == w.Effect.Model.Key })
	}
	isLost := false
	second.lose = func(_ string, w work) loss {
		if isLost || !isPrepared(w) {
			return none
		}
		isLost = true
		return broken
	}
	if o := second.playOn(in); !isLost || o.status != kernel.Completed || o.lost != 1 {
		t.Errorf("of %d prepared calls one was lost: %t; the turn is %s, and %d are lost in the journal", len(in.Played.Ready), isLost, o.status, o.lost)
	}
}

// TestWhatNobodyHasAnnouncedIsNotLost: a worker waits for the database before it begins a call, and so does the worker
// that is asked for the result.
func TestWhatNobodyHasAnnouncedIsNotLost(t *testing.T) {
	f := newFleet(t)
	waited := 0
	f.waits = func(w work) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		if w.Effect.Model == nil || w.Effect.Model.Key.Agent != 0 || waited == 2 {
			return false
		}
		waited++
		return true
	}
	f.checkEnd(f.play(), 0)
}

// TestTextsOfATurnThatIsGone: the store has forgotten what a message names. That is final only if the turn has lost its
// session.
func TestTextsOfATurnThatIsGone(t *testing.T) {
	f := newFleet(t)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	h := f.workers[1]
	env.RegisterActivity(h.perform)
	sent := work{Session: "s", Owner: "o", Parcel: &parcel{}, Described: sessions.RefOf([]byte("forgotten"))}
	for _, isHeld := range []bool{false, true} {
		want := refusedKind
		if isHeld {
			want = unsentKind
			_, err := f.store.Begin(t.Context(), "s", "energy?")
			f.check(err)
		}
		if _, err := env.ExecuteActivity(h.perform, sent); !isOfKind(err, want) {
			t.Errorf("held %t: %v", isHeld, err)
		}
	}
}
