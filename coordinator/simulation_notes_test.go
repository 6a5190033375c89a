package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// notedInSimulation are the notes of the person: how many were tried, and those of which
// the turn has said that it took them.
type notedInSimulation struct {
	tried int

	mu    sync.Mutex
	taken []string
}

// note has the person add a note, and does not wait for the reply.
func (s *simulation) note(t *Turn) {
	s.noted.tried++
	text := fmt.Sprintf("note %03d", s.noted.tried)
	go func() {
		err := t.Note(context.Background(), text)
		s.noted.mu.Lock()
		defer s.noted.mu.Unlock()
		switch {
		case err == nil:
			s.noted.taken = append(s.noted.taken, text)
		case !errors.Is(err, driver.ErrOver) && !errors.Is(err, errLost) && !errors.Is(err, errFull):
			s.fail("a note was refused: %v", err)
		}
	}()
	synctest.Wait()
}

// setPaused has the person pause the turn, or let it go on.
func (s *simulation) setPaused(t *Turn, pause bool) {
	go func() {
		err := t.setPaused(context.Background(), pause, "pause or resume")
		if err != nil && !errors.Is(err, driver.ErrOver) && !errors.Is(err, errLost) && !errors.Is(err, errFull) {
			s.fail("a pause was refused: %v", err)
		}
	}()
	synctest.Wait()
}

// dismiss has the person go on without an agent that the turn can do without.
func (s *simulation) dismiss(e *localTurn) {
	agent := fmt.Sprint("agent", s.below(s.plan.agents)+1)
	if _, err := mayDismiss(e.machine, agent); err != nil {
		return
	}
	go func() {
		err := e.turn.Dismiss(context.Background(), agent)
		if err != nil && !errors.Is(err, driver.ErrOver) && !errors.Is(err, errLost) && !errors.Is(err, errFull) {
			s.fail("a dismissal was refused: %v", err)
		}
	}()
	synctest.Wait()
}

// checkDismissals: who was dismissed is asked no more, and the result says so.
func (s *simulation) checkDismissals(events []turn.Event, r report.Result) {
	var m turn.Machine
	dismissed := map[int]bool{}
	for _, ev := range events {
		commands, err := m.Apply(ev)
		if err != nil {
			s.fail("%v", err)
			return
		}
		if d, ok := ev.(kernel.Dismissed); ok {
			dismissed[d.Agent] = true
		}
		for _, c := range commands {
			if started, ok := c.(turn.StepStarted); ok && dismissed[started.Agent] {
				s.fail("agent %d was dismissed and starts a step", started.Agent)
			}
		}
	}
	for i, a := range r.Agents {
		if dismissed[i] != (a.State == kernel.ActDismissed) {
			s.fail("%s was dismissed: %t, and is %s", a.ID, dismissed[i], a.State)
		}
	}
}

// checkNotes: each note that was taken is in the result, and in the input of each call of
// an agent that began after it.
func (s *simulation) checkNotes(events []turn.Event, r report.Result) {
	var m turn.Machine
	taken := 0
	for _, ev := range events {
		commands, err := m.Apply(ev)
		if err != nil {
			s.fail("%v", err)
			return
		}
		if _, ok := ev.(turn.Noted); ok {
			taken++
		}
		for _, c := range commands {
			run, ok := c.(turn.Run)
			if !ok {
				continue
			}
			call, ok := run.Effect.(effect.ModelCall)
			if ok && call.Sidecall == nil && call.NotesTold() != taken {
				s.fail("%s is told of %d notes, of %d", call.Key, call.NotesTold(), taken)
			}
		}
	}
	if r.Format == 0 { // it was killed after the end, and its result is not told any more
		return
	}
	for _, text := range s.noted.taken {
		if !slices.ContainsFunc(r.Notes, func(n report.ResultNote) bool { return n.Text == text }) {
			s.fail("%s was taken, and the result has %v", text, r.Notes)
		}
	}
	for _, n := range r.Notes {
		if n.SeenBy > s.plan.agents {
			s.fail("%+v, of %d agents", n, s.plan.agents)
		}
	}
}
