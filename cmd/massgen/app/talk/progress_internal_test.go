package talk

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/coordinator/report"
)

// TestStepsThatStartTogether are told of in one line, which nobody waits for longer than
// the next might take to be one of them.
func TestStepsThatStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown strings.Builder
		c := testProgram(t).Console
		c.Err = &shown
		v := progress{console: c, state: report.NewState("a", "b", "c"), within: startsWithin}
		starts := func(agent string, round int) {
			v.state.Apply(report.Stamp(report.StepStarted{Actor: report.Actor{Agent: agent, Round: round}}, time.Now(), false))
			v.show()
		}
		begun := time.Now()
		starts("a", 1)
		time.Sleep(startsWithin - 1)
		starts("b", 1)
		<-v.soon
		if waited := time.Since(begun); waited != 2*startsWithin-1 || shown.Len() > 0 {
			t.Errorf("after %s shown is %q", waited, shown.String())
		}
		v.flush()
		starts("c", 2)
		<-v.soon
		v.flush()
		if want := "round 1: a, b are writing\nround 2: c is writing\n"; shown.String() != want {
			t.Errorf("shown is %q, want %q", shown.String(), want)
		}
	})
}

// TestEqualFailuresShareALine, also if another agent answers between them.
func TestEqualFailuresShareALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown strings.Builder
		c := testProgram(t).Console
		c.Err = &shown
		v := progress{console: c, state: report.NewState("a", "b", "c"), within: startsWithin}
		end := func(agent string) report.StepEnd { return report.StepEnd{Actor: report.Actor{Agent: agent, Round: 1}} }
		for _, ev := range []report.Event{
			report.Failed{StepEnd: end("c"), Reason: "no such host"}, report.Answered{StepEnd: end("a"), Label: "a.1"}, report.Failed{StepEnd: end("b"), Reason: "no such host"},
		} {
			v.state.Apply(report.Stamp(ev, time.Now(), false))
			v.show()
		}
		<-v.soon
		v.flush()
		if got := shown.String(); strings.Count(got, "no such host") != 1 || !strings.Contains(got, "b, c failed: no such host") || !strings.Contains(got, "a answered") {
			t.Errorf("shown is %q", got)
		}
	})
}
