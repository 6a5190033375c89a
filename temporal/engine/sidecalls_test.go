package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// newFollowing is a turn with a call after its answer, of whose journal it notes the events.
func newFollowing() (a *asking, kinds *[]string) {
	a, kinds = newAsking(), &[]string{}
	a.unattended, a.following = true, []effect.Sidecall{{Purpose: effect.FactExtraction, Model: "m"}}
	a.onJournal = func(ev turn.Event) {
		kind := strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", ev), "turn."), "kernel.")
		if key, ok := turn.KeyOf(ev); ok && key.Agent == effect.NoAgent {
			kind += " " + string(key.Purpose)
		}
		*kinds = append(*kinds, kind)
	}
	return a, kinds
}

// TestCallsFollowTheAnswer as effects of the turn, whose session is let go of after them.
func TestCallsFollowTheAnswer(t *testing.T) {
	a, kinds := newFollowing()
	if err := a.play(); err != nil {
		t.Fatal(err)
	}
	want := []string{"ModelDone", "Decided", "ToolDone", "ModelDone", "Committed", "ModelDone facts"}
	if diff := cmp.Diff(want, *kinds); diff != "" || a.finished != 1 {
		t.Errorf("finished %d times, the journal (-want +got):\n%s", a.finished, diff)
	}
}

// TestInterruptEndsWhatFollows, and the session is let go of all the same.
func TestInterruptEndsWhatFollows(t *testing.T) {
	a, kinds := newFollowing()
	note := a.onJournal
	a.onJournal = func(ev turn.Event) {
		if _, ok := ev.(turn.Committed); ok {
			a.SignalWorkflow(interruptSignal, toTurn{3})
		}
		note(ev)
	}
	a.slow = func(key effect.Key) bool { return key.Purpose == effect.FactExtraction }
	if err := a.play(); err != nil {
		t.Fatal(err)
	}
	want := []string{"ModelDone", "Decided", "ToolDone", "ModelDone", "Committed", "Interrupted", "ModelDone facts"}
	if diff := cmp.Diff(want, *kinds); diff != "" || a.finished != 1 {
		t.Errorf("finished %d times, the journal (-want +got):\n%s", a.finished, diff)
	}
}
