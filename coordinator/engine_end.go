package coordinator

import (
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/sessions"
)

// end makes the result final, publishes it, and returns the calls that follow it. If there are
// any, the session stays held.
func (e *localTurn) end(err error) []machine.Sidecall {
	e.over(time.Now())
	e.unjournaled.Duration -= e.paused
	e.unjournaled.Repairs = e.doer.Repairs()
	kept, unkept, err := e.outcome(err)
	var following []machine.Sidecall
	if err != nil {
		err = errors.Join(err, e.leave())
	} else {
		following, err = e.keepResult(kept, unkept)
	}
	e.announce(errors.Join(err, e.afterTurn()))
	return following
}

// keepResult stores the turn's outcome, and returns the calls that follow it.
func (e *localTurn) keepResult(kept sessions.Ended, unkept error) ([]machine.Sidecall, error) {
	var following []machine.Sidecall
	if unkept == nil {
		following = e.following(kept)
	}
	if err := e.commit(kept, len(following) > 0); err != nil {
		return nil, errors.Join(unkept, fmt.Errorf("end turn %s: %w", e.turn.ID(), err))
	}
	var err error
	e.turn.result.Session, err = e.sessionUpdate()
	return following, errors.Join(unkept, err)
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
