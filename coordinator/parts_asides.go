package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// Following returns again what Conclude has returned, for whoever does not know that it
// came to its end, while the session is still held.
func (p *Panel) Following(ctx context.Context, session string, number int) ([]machine.Aside, error) {
	e, _, err := p.replayed(ctx, session, number)
	if err != nil {
		return nil, fmt.Errorf("look for what follows turn %d of session %s: %w", number, session, err)
	}
	kept, _, err := e.outcome(nil)
	if err != nil {
		return nil, fmt.Errorf("look for what follows turn %d of session %s: %w", number, session, err)
	}
	return e.following(kept), nil
}

// Finish keeps what the calls have come to that followed a turn's answer, and lets go of the
// session. Their replies are in the journal. It can be done again while the session is held.
func (p *Panel) Finish(ctx context.Context, session string, number int) error {
	if err := p.finish(ctx, session, number); err != nil {
		return fmt.Errorf("finish turn %d of session %s: %w", number, session, err)
	}
	return nil
}

func (p *Panel) finish(ctx context.Context, session string, number int) error {
	e, events, err := p.replayed(ctx, session, number)
	if err != nil {
		return err
	}
	isCommitted := false
	for _, ev := range events {
		if _, ok := ev.(turn.Committed); ok {
			isCommitted = true
		}
		if isCommitted { // what came before is kept, and may have been changed since
			e.keep(ev)
		}
	}
	if !isCommitted {
		return errors.New("its journal does not say that calls follow it")
	}
	e.turn.result, err = e.result()
	if err = errors.Join(err, e.noteSpent()); err != nil {
		return err
	}
	ended := e.ended()
	ended.Usage = sessions.Usage(e.machine.FollowingUsage())
	return p.opts.Store.End(ctx, session, number, ended)
}

// lendReader gives an engine that performs one call what reads its reply. That of the facts
// knows the answer which they follow.
func (e *engine) lendReader(ctx context.Context, described machine.Turn, purpose machine.Purpose) error {
	p := e.panel
	if purpose != machine.FactExtraction || p.opts.Facts == nil {
		return nil
	}
	answered, _, err := p.replayed(ctx, described.Session, described.Turn)
	if err != nil {
		return fmt.Errorf("read the answer of turn %d of session %s: %w", described.Turn, described.Session, err)
	}
	answer, err := p.opts.Store.Get(ctx, answered.machine.Result().Text)
	if err != nil {
		return fmt.Errorf("read the answer of turn %d of session %s: %w", described.Turn, described.Session, err)
	}
	e.doer.Asides[machine.FactExtraction] = p.reader(p.opts.Facts, string(answer))
	return nil
}

// performing is the context of an effect: a call that belongs to no agent holds up its turn
// for asideLimit at most.
func (p *Panel) performing(ctx context.Context, key machine.Key) (context.Context, context.CancelFunc) {
	if p.opts.PanelValue != nil {
		ctx = agents.WithPanelValue(ctx, p.opts.PanelValue)
	}
	if key.Agent == machine.NoAgent {
		return context.WithTimeout(ctx, asideLimit)
	}
	return context.WithCancel(ctx)
}
