package talk

import (
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// The silence before a line says who is at work, and the time between two such lines.
const (
	silentAfter = 5 * time.Second
	toldAgain   = 15 * time.Second
)

// workNotice knows who is at work, and when the last line was written.
type workNotice struct {
	working []report.StepStarted // the starts of the steps that have not ended
	heard   time.Time            // of the last event that has a line
	told    time.Time            // of the last line about the silence
}

// hear is called with the events of a turn in their order.
func (q *workNotice) hear(ev report.Event) {
	switch ev := ev.(type) {
	case report.TextDelta, report.Thinking, report.ToolCalled, report.CallStarted, report.CallEnded, report.ToolStarted:
		return
	case report.StepStarted:
		q.working = append(q.working, ev)
	case stepEnd:
		q.working = without(q.working, ev)
	}
	q.heard = ev.Head().At
}

// stepEnd is an event that ends a step.
type stepEnd interface{ End() report.StepEnd }

// without removes the step that has ended.
func without(started []report.StepStarted, ended stepEnd) []report.StepStarted {
	return slices.DeleteFunc(started, func(s report.StepStarted) bool { return s.Agent == ended.End().Agent })
}

// line says who is at work and for how long. It is empty before a long silence.
func (q *workNotice) line(now time.Time) string {
	if len(q.working) == 0 || now.Sub(q.heard) < silentAfter || now.Sub(q.told) < toldAgain {
		return ""
	}
	q.told = now
	names := make([]string, len(q.working))
	for i, s := range q.working {
		names[i] = fmt.Sprintf("%s (%.0f s)", s.Agent, now.Sub(s.At).Seconds())
	}
	return "  still at work: " + plain.List(names)
}

// seconds ticks where a person waits: on a terminal that shows progress.
func (f *feed) seconds() (ticks <-chan time.Time, stop func()) {
	if !f.isShown() || !cmdline.IsTerminal(f.env.Stderr) {
		return nil, func() {}
	}
	t := time.NewTicker(time.Second)
	return t.C, t.Stop
}
