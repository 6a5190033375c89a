package coordinator

import (
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// end makes the result final, publishes it, and returns the calls that follow the answer. If calls
// follow, the session stays held. err is the error of play.
func (e *localTurn) end(err error) []effect.Sidecall {
	var following []effect.Sidecall
	if !e.isStored {
		following, err = e.storeOutcome(err)
	}
	v := e.view
	if err == nil {
		v.turn.result.Session, err = v.sessionUpdate()
	}
	if errors.Is(err, ErrLeft) {
		v.announce(err)
		return nil
	}
	v.announce(errors.Join(e.messagesErr, err, v.afterTurn()))
	return following
}

// endWith stores the last events of the turn's journal with its outcome, in one transaction.
func (e *localTurn) endWith(journal [][]byte) error {
	ended, err := e.makeOutcome(nil)
	if v := e.view; err == nil {
		err = v.panel.opts.Store.EndWith(v.base, v.turn.session, v.turn.number, ended, journal...)
	}
	e.isStored = err == nil
	return err
}

// storeOutcome stores the outcome of a turn whose journal is complete, and returns the calls that
// follow the answer. If failed is not nil, it releases the turn instead.
func (e *localTurn) storeOutcome(failed error) ([]effect.Sidecall, error) {
	ended, err := e.makeOutcome(failed)
	if err != nil {
		return nil, errors.Join(err, e.leave())
	}
	var following []effect.Sidecall
	if e.messagesErr == nil {
		following = e.view.following(ended)
	}
	if err := e.view.commit(ended, len(following) > 0); err != nil {
		return nil, fmt.Errorf("end turn %s: %w", e.view.turn.ID(), err)
	}
	e.isStored = true
	return following, nil
}

// makeOutcome makes the result, and returns the outcome to store.
func (e *localTurn) makeOutcome(failed error) (ended sessions.Ended, err error) {
	v := e.view
	v.over(time.Now())
	v.unjournaled.Duration -= e.clock.paused
	v.unjournaled.Repairs = e.doer.Repairs()
	ended, e.messagesErr, err = v.outcome(failed)
	return ended, err
}

// leave releases a turn whose store failed, or that the process leaves. The journal may lack the end but has every paid call: the
// turn can be resumed.
func (e *localTurn) leave() error {
	v := e.view
	if err := v.panel.opts.Store.Leave(v.base, v.turn.session, v.turn.number); err != nil {
		return fmt.Errorf("leave turn %s: %w", v.turn.ID(), err)
	}
	return nil
}

// follow plays the calls that follow the answer, and releases the session. The result is out already, so
// failures become events.
func (e *localTurn) follow(list []effect.Sidecall) {
	v := e.view
	e.steps.Begin(effect.NoAgent) // the sidecalls before round 1 had their own step
	e.doer.SetSidecall(effect.FactExtraction, v.panel.reader(v.panel.opts.Facts, v.turn.result.Answer))
	err := e.handle(turn.Committed{At: e.Now(), Sidecalls: list})
	if err == nil {
		err = e.play()
	}
	if err = errors.Join(err, v.recordSpent(), v.finish()); err == nil {
		_, err = v.sessionUpdate() // the result is out and does not change
	}
	if err != nil {
		v.turn.events.add(report.SidecallFailed{Why: err.Error()})
	}
}
