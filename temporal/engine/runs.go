package engine

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/driver"
)

// mostState is the most bytes of a turn that goes on in a new run: the server accepts at most 2
// MB at once.
const mostState = 1 << 20

// next returns the request for the run that goes on from here; ok is false while this run goes
// on. A run can end when it has nothing under way and nobody waits.
func (p *player) next() (next request, ok bool) {
	info := workflow.GetInfo(p.root)
	limit := p.in.Settings.HistoryLimit
	switch {
	case !info.GetContinueAsNewSuggested() && (limit == 0 || info.GetCurrentHistoryLength() < limit):
		return next, false
	case p.driver.Out() > len(p.begun) || p.driver.Machine().Over() || len(p.inbox) > 0 || p.hasNotes() || !workflow.AllHandlersFinished(p.root):
		return next, false
	}
	state, err := json.Marshal(p.driver.Machine())
	if err != nil { // this run may go on for long
		return next, false
	}
	next = p.in
	next.Played = &played{Number: p.number, Events: p.events, Machine: state, Wake: p.timer.wake, Clock: p.timer.clock, Interrupted: p.cut, Tools: p.home, Unattended: p.questions.unattended}
	for _, w := range p.begun {
		if w.Permission != nil || w.ctx.Err() != nil {
			return next, false
		}
		next.Played.Work = append(next.Played.Work, playedWork{effectOf(w.Effect), *w.Turn})
	}
	data, err := json.Marshal(next)
	return next, err == nil && len(data) <= mostState
}

// takeUp goes on where the run before ended.
func (p *player) takeUp(last played) error {
	if err := json.Unmarshal(last.Machine, p.driver.Machine()); err != nil {
		return err
	}
	p.number, p.events, p.cut, p.home = last.Number, last.Events, last.Interrupted, last.Tools
	p.questions.unattended, p.timer.clock, p.in.Played = last.Unattended, last.Clock, nil
	if last.Wake > 0 {
		p.Wake(last.Wake)
	}
	for _, w := range last.Work {
		e, err := w.Effect.effect()
		if err != nil {
			return err
		}
		p.driver.Start(driver.Work{Effect: e, Turn: &w.Turn})
	}
	return nil
}
