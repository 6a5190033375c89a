package talk

import (
	"testing"
	"time"

	"github.com/massgen/massgen/coordinator/report"
)

func TestALongSilenceIsExplained(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var q workNotice
	state := report.NewState("a", "b")
	heard := func(second int, ev report.Event) {
		state.Apply(report.Stamp(ev, start.Add(time.Duration(second)*time.Second), false))
	}
	of := func(agent string) report.Actor { return report.Actor{Agent: agent} }
	said := map[int]string{}
	for second := range 60 {
		switch second {
		case 0:
			heard(0, report.StepStarted{Actor: of("a")})
			heard(0, report.StepStarted{Actor: of("b")})
		case 3: // words are no line
			heard(3, report.TextDelta{Actor: of("a")})
		case 23:
			heard(23, report.Answered{StepEnd: report.StepEnd{Actor: of("a")}})
			heard(23, report.Awaited{Agents: []string{"b"}, Within: 60 * time.Second})
		case 40:
			heard(40, report.Failed{StepEnd: report.StepEnd{Actor: of("b")}})
		}
		if line := q.line(state, start.Add(time.Duration(second)*time.Second)); line != "" {
			said[second] = line
		}
	}
	want := map[int]string{
		5:  "  still at work: a (5 s), b (5 s)",
		20: "  still at work: a (20 s), b (20 s)",
		35: "  still at work: b (35 s); the others go on in 48 s",
	}
	if len(said) != len(want) {
		t.Errorf("said %v", said)
	}
	for second, line := range want {
		if said[second] != line {
			t.Errorf("second %d: %q, want %q", second, said[second], line)
		}
	}
}
