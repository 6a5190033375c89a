package talk

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/machine"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/system/plain"
)

// showTopic prints the topic that a turn has changed.
func (f *feed) showTopic(state topic.State) {
	switch p := state.Pending; {
	case f.isShown() && p != nil:
		f.remark("topic %s", f.console.Secrets.Redact(f.pendingTopic(*p)))
	case p != nil:
		f.console.Warn("the topic " + f.pendingTopic(*p))
	case state.Current != nil:
		f.remark("topic: %s", plain.Line(f.console.Secrets.Redact(state.Current.Name)))
	}
}

// pendingTopic returns how a person confirms a topic: by a command or, where nobody can type one, by
// another question.
func (f *feed) pendingTopic(p topic.Pending) string {
	if !f.term.given {
		return pendingText(p)
	}
	return fmt.Sprintf("pending: %s; a next question that agrees goes over to it and asks again: %s", plain.Line(p.Topic.Name), wording.Quoted(p.Question))
}

// showFacts prints the facts that a turn has added to memory.
func (f *feed) showFacts(facts []string) {
	for _, text := range facts {
		f.remark("remembered: %s", plain.Line(f.console.Secrets.Redact(text)))
	}
}

// settle waits for the calls that follow the answer of the last turn. An interrupt ends these calls, and
// a second one ends the wait.
func (s *session) settle(ctx context.Context, signals <-chan os.Signal) {
	t := s.turn
	if t == nil {
		return
	}
	s.turn = nil
	events, stop := eventsOf(ctx, t)
	defer stop()
	for isOver, interrupted := false, false; ; {
		select {
		case signal := <-signals:
			if interrupted {
				return
			}
			interrupted, s.term.cut = true, time.Now()
			s.term.terminated = s.term.terminated || cmdline.EndsProgram(signal)
			t.Cancel()
		case ev, more := <-events:
			if !more {
				return
			}
			if isOver {
				s.feed.logEvent(ctx, ev)
				s.feed.printAfter(ev)
			}
			if _, ended := ev.(report.Ended); ended {
				isOver = true
			}
		}
	}
}

// printAfter warns of a call that failed after the answer.
func (f *feed) printAfter(ev report.Event) {
	if failed, ok := ev.(report.SidecallFailed); ok {
		f.console.Warn(f.console.Secrets.Redact(sidecallFailure(failed)))
	}
}

// sidecallText returns the purpose of a call that is not an agent's own.
func sidecallText(ev report.SidecallStarted) string {
	switch ev.Purpose {
	case machine.Summarizing:
		return "older turns are being summarized"
	case machine.TopicDetection:
		return "the topic is being found out"
	case machine.FileDescription:
		return "the attached files are being described"
	case machine.StepSummarizing:
		return "the oldest part of " + ev.Agent + "'s work is being summarized"
	}
	return string(ev.Purpose)
}

func sidecallFailure(ev report.SidecallFailed) string {
	switch ev.Purpose {
	case machine.FactExtraction:
		return "what is to be remembered of this turn could not be found out: " + ev.Why
	case "": // the store failed
		return "what follows the answer could not be kept: " + ev.Why
	}
	return fmt.Sprintf("the call for the %s came to nothing: %s", ev.Purpose, ev.Why)
}

// eventsOf yields a turn's events until they end or stop is called. stop waits for the goroutine that
// passes the events on.
func eventsOf(ctx context.Context, t *coordinator.Turn) (<-chan report.Event, func()) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan report.Event)
	go func() {
		defer close(events)
		for ev := range t.Events(ctx) {
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, func() {
		cancel()
		for range events { // until it is closed
			continue
		}
	}
}
