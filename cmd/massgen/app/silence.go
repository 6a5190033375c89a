package app

import (
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/plain"
)

// How long no line may come before one tells who is at work, and how often that
// is told.
const (
	silentAfter = 5 * time.Second
	toldAgain   = 15 * time.Second
)

// silence knows who is at work and since when somebody heard of it.
type silence struct {
	working []coordinator.Event // the starts of the steps that have not ended
	heard   time.Time           // of the last event that has a line
	told    time.Time           // of the last line about the silence
}

// hear takes the events of a turn in their order.
func (q *silence) hear(ev coordinator.Event) {
	switch ev.Kind {
	case coordinator.TextDelta, coordinator.Thinking, coordinator.ToolCalled, coordinator.CallStarted, coordinator.ToolStarted:
		return
	}
	q.heard = ev.At
	if ev.Kind == coordinator.ToolEnded || ev.Kind == coordinator.ToolProgress { // its agent is still at work
		return
	}
	q.working = slices.DeleteFunc(q.working, func(s coordinator.Event) bool { return s.Agent == ev.Agent })
	if ev.Kind == coordinator.StepStarted {
		q.working = append(q.working, ev)
	}
}

// line tells who is at work and for how long, or is empty where nothing is to be
// told yet.
func (q *silence) line(now time.Time) string {
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
func (s *session) seconds() (ticks <-chan time.Time, stop func()) {
	if !s.display() || !isTerminal(s.env.Stderr) {
		return nil, func() {}
	}
	t := time.NewTicker(time.Second)
	return t.C, t.Stop
}
