package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/driver"
)

// mostState is the most bytes of a turn that goes on in a new run: the server accepts at most 2
// MB at once.
const mostState = 1 << 20

// mostMachine is the most bytes of a machine that goes on in a new run, uncompressed.
const mostMachine = 16 << 20

// mostAgentsOfRuns is the most agents of a turn that goes on in new runs: each agent's step has the
// answers of all.
const mostAgentsOfRuns = 200

// isLong reports whether the history of this run is so long that the turn should go on in a new one.
func isLong(p *player) bool {
	if p.in.Form >= turnsByTexts && len(p.driver.Machine().Turn().Agents) > mostAgentsOfRuns {
		return false
	}
	info := workflow.GetInfo(p.root)
	limit := p.in.Settings.HistoryLimit
	return info.GetContinueAsNewSuggested() || limit > 0 && info.GetCurrentHistoryLength() >= limit
}

// isIdle reports whether nothing is under way and the turn is not over.
func isIdle(p *player) bool { return p.driver.Out() <= len(p.begun) && !p.driver.Machine().Over() }

// next returns the request for the run that goes on from here; ok is false while this run goes
// on. A run can end when it has nothing under way and nobody waits.
func (p *player) next() (next request, ok bool) {
	switch {
	case !isLong(p) || !isIdle(p):
		return next, false
	case len(p.inbox) > 0 || p.journal.isWriting || p.hasNotes() || !workflow.AllHandlersFinished(p.root):
		return next, false
	}
	state, err := json.Marshal(p.driver.Machine())
	if err != nil { // this run may go on for long
		return next, false
	}
	next = p.in
	next.Played = &played{Number: p.journal.number, Events: p.journal.events, Wake: p.timer.wake, Clock: p.timer.clock, Interrupted: p.cut, Tools: p.home.home, Unattended: p.questions.unattended}
	for _, w := range p.begun {
		if w.Permission != nil || w.ctx.Err() != nil {
			return next, false
		}
	}
	if p.in.Form >= turnsByTexts {
		return next, nextByTexts(p, next.Played, state)
	}
	next.Played.Machine = state
	for _, w := range p.begun {
		next.Played.Work = append(next.Played.Work, playedWork{effectOf(w.Effect), *w.Turn})
	}
	data, err := json.Marshal(next)
	return next, err == nil && len(data) <= mostState
}

// nextByTexts fills in the state and the packed work of a turn by texts.
func nextByTexts(p *player, next *played, state []byte) bool {
	if len(state) > mostMachine {
		return false
	}
	if err := pack(p, p.begun); err != nil { // the start of the work fails too, and says so
		return false
	}
	for _, w := range p.begun {
		next.Ready = append(next.Ready, sentOf(*w.sent))
	}
	packed, err := compress(state)
	next.Packed = packed
	return err == nil && len(packed) <= mostState
}

// takeUp goes on where the run before ended.
func (p *player) takeUp(last played) (err error) {
	if p.in.Form >= turnsByTexts {
		if last.Machine, err = decompress(last.Packed); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(last.Machine, p.driver.Machine()); err != nil {
		return err
	}
	p.journal.number, p.journal.events, p.cut, p.home = last.Number, last.Events, last.Interrupted, homeAtWork{home: last.Tools}
	p.questions.unattended, p.timer.clock, p.in.Played = last.Unattended, last.Clock, nil
	if last.Wake > 0 {
		p.Wake(last.Wake)
	}
	if p.driver.Machine().IsPaused() {
		keepWhilePaused(p)
	}
	for _, w := range last.Work {
		e, err := w.Effect.effect()
		if err != nil {
			return err
		}
		p.driver.Start(driver.Work{Effect: e, Turn: &w.Turn})
	}
	for _, w := range last.Ready {
		stub := w.Parcel.stub()
		w.Effect = effectOf(stub)
		p.driver.Start(driver.Work{Effect: stub})
		p.begun[len(p.begun)-1].sent, p.begun[len(p.begun)-1].isNamed = &w, true
	}
	return nil
}

// compress and decompress are for the state and the description of a turn, which repeat much.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

func decompress(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read what is compressed: %w", err)
	}
	return io.ReadAll(r)
}
