package sessions

import (
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/coordinator/report"
)

// TestSentencesHaveTheirOwnNotesAndVotes also if the state no longer has the first sentences.
func TestSentencesHaveTheirOwnNotesAndVotes(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		s := report.NewState("ada", "bob")
		s.KeepsNews = keeps
		apply := func(list ...report.Event) {
			for _, ev := range list {
				s.Apply(report.Stamp(ev, time.Unix(1, 0), false))
			}
		}
		ada := report.Actor{Agent: "ada", Round: 1}
		apply(report.Noted{Text: "the first"}, report.StepStarted{Actor: ada},
			report.CallStarted{Actor: ada, Number: 1}, report.CallEnded{Actor: ada},
			report.Voted{StepEnd: report.StepEnd{Actor: ada}, Label: "bob.1"},
			report.Answered{StepEnd: report.StepEnd{Actor: report.Actor{Agent: "bob", Round: 1}}, Label: "bob.2", Content: "Wind."})
		for range 2500 {
			apply(report.Paused{})
		}
		apply(report.Noted{Text: "the last"}, report.Voted{StepEnd: report.StepEnd{Actor: ada}, Label: "bob.2"})
		text := newsLines(s)
		if !strings.Contains(text, "the last (seen by nobody)\n") || strings.Count(text, "(void: ") != strings.Count(text, "for bob.1") {
			t.Errorf("the last sentences are %s", text[max(len(text)-200, 0):])
		}
		if strings.Contains(text, "the first (seen by ada)") != keeps {
			t.Errorf("it keeps all sentences, %v, and begins with %s", keeps, text[:200])
		}
	}
}
