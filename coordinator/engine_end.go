package coordinator

import (
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/sessions"
)

// end makes the result final, lets everybody know, and returns the calls that are to
// follow it: then the session is still held.
func (e *engine) end(err error) []machine.Aside {
	t := e.turn
	t.ended = time.Now()
	kept, unkept, err := e.outcome(err)
	var following []machine.Aside
	if err != nil {
		err = errors.Join(err, e.leave())
	} else {
		following, err = e.keepResult(kept, unkept)
	}
	e.announce(errors.Join(err, e.afterTurn()))
	return following
}

// announce makes the result and its error final for those who wait.
func (e *engine) announce(err error) {
	t := e.turn
	t.err = err
	t.events.add(report.Ended{Status: t.result.Status, Elapsed: t.ended.Sub(t.started), Usage: t.result.Usage})
	close(t.done)
}

// result completes the report's result.
func (e *engine) result() (report.Result, error) {
	return e.report.Result(report.Unjournaled{
		Duration: e.turn.ended.Sub(e.turn.started) - e.paused, Repairs: e.doer.Repairs(), Unkept: e.unkept,
	})
}

// outcome makes the result, and returns what the store is to keep of it. The error is err
// with what went wrong here; messages that cannot be kept cost no answer, and unkept says
// why.
func (e *engine) outcome(err error) (kept sessions.Ended, unkept, failed error) {
	var resultErr error
	e.turn.result, resultErr = e.result()
	asked, askedErr := e.asked()
	if failed = errors.Join(err, resultErr, askedErr, e.noteSpent()); failed != nil {
		return kept, nil, failed
	}
	kept = e.ended()
	if asked != e.turn.question {
		kept.Question = asked
	}
	unkept = e.addMessages(&kept)
	return kept, unkept, nil
}

// keepResult keeps what the turn came to, and returns the calls that are to follow it.
func (e *engine) keepResult(kept sessions.Ended, unkept error) ([]machine.Aside, error) {
	var following []machine.Aside
	if unkept == nil {
		following = e.following(kept)
	}
	if err := e.commit(kept, len(following) > 0); err != nil {
		return nil, errors.Join(unkept, fmt.Errorf("end turn %s: %w", e.turn.ID(), err))
	}
	var err error
	e.turn.result.Session, err = e.tellSession()
	return following, errors.Join(unkept, err)
}

// commit keeps what the turn came to, and goes on holding the session if calls follow.
func (e *engine) commit(ended sessions.Ended, held bool) error {
	keep := e.panel.opts.Store.End
	if held {
		keep = e.panel.opts.Store.Commit
	}
	return keep(e.base, e.turn.session, e.turn.number, ended)
}

// asked is the question that the agents were asked, "" if none were.
func (e *engine) asked() (string, error) {
	ref := e.machine.Turn().Question
	if ref == (kernel.Ref{}) {
		return "", nil
	}
	text, err := e.panel.opts.Store.Get(e.base, ref)
	if err != nil {
		return "", fmt.Errorf("read the question of turn %s: %w", e.turn.ID(), err)
	}
	return string(text), nil
}

// leave lets go of a turn whose store failed. Its journal may not say how it came to its
// end, but has all that was paid for: it can be resumed.
func (e *engine) leave() error {
	if err := e.panel.opts.Store.Leave(e.base, e.turn.session, e.turn.number); err != nil {
		return fmt.Errorf("leave turn %s: %w", e.turn.ID(), err)
	}
	return nil
}

// ended is what the store keeps of the result.
func (e *engine) ended() sessions.Ended {
	r := e.turn.result
	return sessions.Ended{Status: r.Status, Winner: r.Winner, Answer: r.Answer, Usage: sessions.Usage(r.Usage)}
}

// afterTurn runs the hook.
func (e *engine) afterTurn() error {
	if e.panel.opts.AfterTurn == nil {
		return nil
	}
	if err := guarded("the hook", func() error { return e.panel.opts.AfterTurn(e.base, e.turn, e.turn.result) }); err != nil {
		return fmt.Errorf("after turn %s: %w", e.turn.ID(), err)
	}
	return nil
}

// guarded runs a function of the panel's user. A panic in it must not end the program:
// other turns run, and the result of this one is to be had.
func guarded(what string, run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s panicked: %v", what, r)
		}
	}()
	return run()
}
