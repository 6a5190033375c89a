package engine

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/agents/machine"
)

// mostState is how many bytes a machine may have that goes on in a new run: the server
// takes no more than 2 MB at once.
const mostState = 1 << 20

// next is the request of the run that is to go on from here; ok is false while this one
// goes on. It can end when nothing is out and nobody waits.
func (p *player) next(effects []machine.Effect) (next request, ok bool) {
	if p.out > 0 || p.over || p.moving || len(p.journal.inbox) > 0 || p.hasNotes() || !workflow.AllHandlersFinished(p.root) {
		return next, false
	}
	info := workflow.GetInfo(p.root)
	limit := p.in.Settings.HistoryLimit
	if !info.GetContinueAsNewSuggested() && (limit == 0 || info.GetCurrentHistoryLength() < limit) {
		return next, false
	}
	state, err := json.Marshal(&p.machine)
	if err != nil || len(state) > mostState { // this run can go on for long yet
		return next, false
	}
	next = p.in
	next.Played = &played{Number: p.number, Events: p.journal.events, Machine: state, Wake: p.wake, Clock: p.clock, Interrupted: p.cut, Tools: p.home, Unattended: p.unattended}
	for _, e := range effects {
		next.Played.Effects = append(next.Played.Effects, effectOf(e))
	}
	return next, true
}

// takeUp goes on where the run before has ended.
func (p *player) takeUp(last played) ([]machine.Effect, error) {
	if err := json.Unmarshal(last.Machine, &p.machine); err != nil {
		return nil, err
	}
	p.number, p.journal.events, p.cut, p.home = last.Number, last.Events, last.Interrupted, last.Tools
	p.unattended = last.Unattended
	p.clock = last.Clock
	if last.Wake > 0 {
		p.wakeAt(last.Wake)
	}
	var effects []machine.Effect
	for _, e := range last.Effects {
		one, err := e.effect()
		if err != nil {
			return nil, err
		}
		effects = append(effects, one)
	}
	return effects, nil
}
