package coordinator

import (
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/sessions"
)

// ending is the end of a turn.
type ending struct {
	// isKept says that the outcome is stored. unkept is why it lacks the turn's messages.
	isKept bool
	unkept error
	// after are the calls after the answer, and unasked is why there are none.
	after   []machine.Sidecall
	unasked error
}

// end makes the result final, publishes it, and returns the calls that follow it. If there are
// any, the session stays held.
func (e *localTurn) end(err error) []machine.Sidecall {
	if !e.isKept {
		err = e.keepOutcome(err)
	}
	if e.isKept {
		e.turn.result.Session, err = e.sessionUpdate()
	}
	e.publishUnasked(e.unasked)
	e.announce(errors.Join(e.unkept, err, e.afterTurn()))
	return e.after
}

// endWith stores the last events of the turn's journal with its outcome, in one transaction. After an
// error nothing is stored.
func (e *localTurn) endWith(journal [][]byte) error {
	kept, err := e.makeOutcome(nil)
	if err == nil {
		err = e.panel.opts.Store.Conclude(e.base, e.turn.session, e.turn.number, kept, len(e.after) > 0, journal...)
	}
	e.isKept = err == nil
	return err
}

// keepOutcome stores the outcome of a turn whose journal is complete. failed is an error of this
// process: then it releases the turn.
func (e *localTurn) keepOutcome(failed error) error {
	kept, err := e.makeOutcome(failed)
	if err != nil {
		return errors.Join(err, e.leave())
	}
	if err := e.commit(kept, len(e.after) > 0); err != nil {
		e.after = nil
		return fmt.Errorf("end turn %s: %w", e.turn.ID(), err)
	}
	e.isKept = true
	return nil
}

// makeOutcome makes the result, and returns the outcome to store.
func (e *localTurn) makeOutcome(failed error) (kept sessions.Ended, err error) {
	e.over(time.Now())
	e.unjournaled.Duration -= e.paused
	e.unjournaled.Repairs = e.doer.Repairs()
	if kept, e.unkept, err = e.outcome(failed); err != nil || e.unkept != nil {
		return kept, err
	}
	e.after, e.unasked = e.asksAfter(kept)
	return kept, nil
}

// leave releases a turn whose store failed. Its journal may lack the end, but has every paid
// call: the turn can be resumed.
func (e *localTurn) leave() error {
	if err := e.panel.opts.Store.Leave(e.base, e.turn.session, e.turn.number); err != nil {
		return fmt.Errorf("leave turn %s: %w", e.turn.ID(), err)
	}
	return nil
}

// guarded runs a function of the panel's user. A panic in it must not end the program: other
// turns run, and this turn's result must still be delivered.
func guarded(what string, run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s panicked: %v", what, r)
		}
	}()
	return run()
}
