package failures

import (
	"slices"
	"testing"
	"time"

	"github.com/massgen/massgen/coordinator/report"
)

// TestEqualFailuresShareASentence in the place of the first, with a count or the names of the agents. Other sentences
// stay as they are.
func TestEqualFailuresShareASentence(t *testing.T) {
	t.Parallel()
	s := report.NewState("ada", "bob", "cy")
	actor := func(id string) report.Actor { return report.Actor{Agent: id, Round: 1} }
	for i, ev := range []report.Event{
		report.Retrying{Actor: actor("bob"), Why: "busy", Wait: time.Second}, report.Retrying{Actor: actor("ada"), Why: "busy", Wait: time.Second},
		report.Failed{StepEnd: report.StepEnd{Actor: actor("cy")}, Reason: "no such host"}, report.Answered{StepEnd: report.StepEnd{Actor: actor("ada")}, Label: "ada.1"},
		report.Failed{StepEnd: report.StepEnd{Actor: actor("ada")}, Reason: "no such host"}, report.Failed{StepEnd: report.StepEnd{Actor: actor("bob")}, Reason: "no key"},
	} {
		s.Apply(report.Stamp(ev, time.Unix(int64(i), 0), false))
	}
	var got []string
	for _, n := range Merged(s, s.News) {
		got = append(got, n.Text)
	}
	want := []string{"bob's call failed and is made again in 1.0 s: busy (2 calls)", "ada, cy failed: no such host", "ada answered (ada.1)", "bob failed: no key"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEqualErrorsShareALine with the names of their agents.
func TestEqualErrorsShareALine(t *testing.T) {
	t.Parallel()
	got := Lines([]report.FailedAgent{{Agent: "ada", Error: "x"}, {Agent: "bob", Error: "y"}, {Agent: "cy", Error: "x"}})
	if want := []string{"ada, cy failed: x", "bob failed: y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
