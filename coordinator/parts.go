package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// The parts of a turn for an engine that plays the machine itself (Engine): what comes
// before its first event, one effect, and what follows its last event. The rest is
// turn.Machine.

// On returns the panel on another store: its own one for another owner. Turns of it are
// none of this panel's for Wait.
func (p *Panel) On(store Store) *Panel {
	opts := p.opts
	opts.Store = store
	return newPanel(opts)
}

// Config returns Options.Config.
func (p *Panel) Config() string { return p.opts.Config }

// Prepare returns the first event of a turn for which the store's session is held. It
// stores what the event names. The rules are those of the terms, whose agents must be the
// panel's, and of the budgets each part is the tighter one.
func (p *Panel) Prepare(ctx context.Context, session, question string, begun sessions.Begun, terms Terms) (turn.Accepted, error) {
	if asked, here := terms.Rules.Agents, p.opts.Rules.Agents; !slices.Equal(asked, here) {
		return turn.Accepted{}, fmt.Errorf("the turn is asked of the agents %s, and played by %s: give both the same config", strings.Join(asked, ", "), strings.Join(here, ", "))
	}
	t := newTurn(session, begun.Turn, contextbuild.Clean(question))
	described, err := p.prepare(ctx, t, begun)
	if err != nil {
		return turn.Accepted{}, err
	}
	limits, err := p.allowance(ctx, terms.Budget.Tighter(p.opts.Budget), session, begun.Turn)
	if err != nil {
		return turn.Accepted{}, err
	}
	return turn.Accepted{At: kernel.Time(time.Now().UnixMilli()), Rules: terms.Rules, Turn: described, Budget: limits}, nil
}

// Perform runs an effect to its one result, as agents.Doer.Perform does, with this
// panel's backends and tools. The error is that of a store that does not work, or of tools
// that cannot be listed.
func (p *Panel) Perform(ctx context.Context, described machine.Turn, effect machine.Effect) (machine.Event, error) {
	t := newTurn(described.Session, described.Turn, "")
	var err error
	if t.tools, err = p.tools(ctx); err != nil {
		return nil, err
	}
	e := newEngine(ctx, p, t)
	key := effect.EffectKey()
	if err := e.lendReader(ctx, described, key.Purpose); err != nil {
		return nil, err
	}
	ctx, end := p.performing(ctx, key)
	defer end()
	return e.doer.Perform(ctx, described, effect)
}

// Conclude keeps what a turn has come to whose journal is complete. If calls follow its
// answer it returns them, and goes on holding the session, for Finish; else it lets go of
// it. Until it has come to its end it can be done again.
func (p *Panel) Conclude(ctx context.Context, session string, number int) (following []machine.Aside, err error) {
	following, err = p.conclude(ctx, session, number)
	if err != nil {
		return nil, fmt.Errorf("end turn %d of session %s: %w", number, session, err)
	}
	return following, nil
}

func (p *Panel) conclude(ctx context.Context, session string, number int) ([]machine.Aside, error) {
	e, events, err := p.replayed(ctx, session, number)
	if err != nil {
		return nil, err
	}
	for _, ev := range events {
		e.keep(ev)
	}
	kept, unkept, err := e.outcome(nil)
	if err = errors.Join(err, unkept); err != nil {
		return nil, err
	}
	following := e.following(kept)
	return following, e.commit(kept, len(following) > 0)
}

// replayed returns an engine that has come to the end of a turn by its journal, with the
// events of that.
func (p *Panel) replayed(ctx context.Context, session string, number int) (*engine, []turn.Event, error) {
	events, err := readJournal(ctx, p.opts.Store, session, number)
	if err != nil {
		return nil, nil, err
	}
	accepted, err := p.accepted(events)
	if err != nil {
		return nil, nil, err
	}
	question, err := p.opts.Store.Get(ctx, accepted.Turn.Question)
	if err != nil {
		return nil, nil, err
	}
	t := newTurn(session, number, string(question))
	t.tools = make([][]agents.Tool, len(p.opts.Agents))
	e := newEngine(ctx, p, t)
	e.limit(accepted.Budget)
	for i, ev := range events {
		if err := e.tellOf(ev); err != nil {
			return nil, nil, fmt.Errorf("event %d of its journal: %w", i+1, err)
		}
	}
	if !e.machine.Over() {
		return nil, nil, errors.New("its journal ends before the turn does")
	}
	t.started, t.ended = time.UnixMilli(int64(accepted.At)), time.UnixMilli(int64(turn.When(events[len(events)-1])))
	return e, events, nil
}
