package coordinator

import (
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/sessions"
)

// answered is the stage after the answer.
func (e *localTurn) answered(err error) stage {
	if following := e.end(err); len(following) > 0 {
		return e.follow(following)
	}
	return e.closed
}

// broken is the stage after one that did not return.
func (e *localTurn) broken(err error) stage {
	err = fmt.Errorf("turn %s: %w", e.turn.ID(), err)
	if !e.isStored {
		err = errors.Join(err, e.leave())
	}
	if e.turn.Status() == Running {
		e.announce(err)
	}
	return e.closed
}

// end makes the result final, publishes it, and returns the calls that follow it. If there are
// any, the session stays held.
func (e *localTurn) end(err error) []effect.Sidecall {
	var following []effect.Sidecall
	if !e.isStored {
		following, err = e.storeOutcome(err)
	}
	if err == nil {
		e.turn.result.Session, err = e.sessionUpdate()
	}
	e.announce(errors.Join(e.messagesErr, err, e.afterTurn()))
	return following
}

// endWith stores the last events of the turn's journal with its outcome, in one transaction.
func (e *localTurn) endWith(journal [][]byte) error {
	ended, err := e.makeOutcome(nil)
	if err == nil {
		err = e.panel.opts.Store.EndWith(e.base, e.turn.session, e.turn.number, ended, journal...)
	}
	e.isStored = err == nil
	return err
}

// storeOutcome stores the outcome of a turn whose journal is complete, and returns the calls that
// follow it. If failed is not nil, it releases the turn instead.
func (e *localTurn) storeOutcome(failed error) ([]effect.Sidecall, error) {
	ended, err := e.makeOutcome(failed)
	if err != nil {
		return nil, errors.Join(err, e.leave())
	}
	var following []effect.Sidecall
	if e.messagesErr == nil {
		following = e.following(ended)
	}
	if err := e.commit(ended, len(following) > 0); err != nil {
		return nil, fmt.Errorf("end turn %s: %w", e.turn.ID(), err)
	}
	e.isStored = true
	return following, nil
}

// makeOutcome makes the result, and returns the outcome to store.
func (e *localTurn) makeOutcome(failed error) (ended sessions.Ended, err error) {
	e.over(time.Now())
	e.unjournaled.Duration -= e.paused
	e.unjournaled.Repairs = e.doer.Repairs()
	ended, e.messagesErr, err = e.outcome(failed)
	return ended, err
}

// leave releases a turn whose store failed. Its journal may lack the end, but has every paid
// call: the turn can be resumed.
func (e *localTurn) leave() error {
	if err := e.panel.opts.Store.Leave(e.base, e.turn.session, e.turn.number); err != nil {
		return fmt.Errorf("leave turn %s: %w", e.turn.ID(), err)
	}
	return nil
}

// guarded runs a function of the panel's user, which errors call what. A panic in it must not
// end the program: other turns run, and this turn's result must still be delivered.
func guarded(what string, run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s panicked: %v", what, r)
		}
	}()
	return run()
}
