package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// Resume goes on with the last turn of a session, which a process began and did not
// end: calls whose results are in the journal are not made again, those that were
// under way are. The rules and the inputs are the journal's; the panel must have the
// same agents in the same order, and gives them their backends and tools. For the
// rest it is as Start.
func (p *Panel) Resume(ctx context.Context, session string) (*Turn, error) {
	session = cmp.Or(session, sessions.Default)
	begun, err := p.opts.Store.Resume(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("resume session %s: %w", session, err)
	}
	t, err := p.resume(ctx, session, begun.Turn)
	if err != nil {
		// Nothing has changed: the turn stays as it was, and can be resumed later.
		err = errors.Join(err, p.opts.Store.Leave(context.WithoutCancel(ctx), session, begun.Turn))
		return nil, fmt.Errorf("resume turn %d of session %s: %w", begun.Turn, session, err)
	}
	return t, nil
}

func (p *Panel) resume(ctx context.Context, session string, number int) (*Turn, error) {
	events, err := p.journal(ctx, session, number)
	if err != nil {
		return nil, err
	}
	accepted, ok := events[0].(turn.Accepted)
	if !ok {
		return nil, errors.New("its journal does not begin with the accepted turn")
	}
	if !slices.Equal(accepted.Rules.Agents, p.opts.Rules.Agents) {
		return nil, fmt.Errorf("it was begun by the agents %s, and the panel is %s: use the config that it was begun with",
			strings.Join(accepted.Rules.Agents, ", "), strings.Join(p.opts.Rules.Agents, ", "))
	}
	question, err := p.opts.Store.Get(ctx, accepted.Turn.Question)
	if err != nil {
		return nil, err
	}
	t := newTurn(session, number, string(question))
	if t.tools, err = p.tools(ctx); err != nil {
		return nil, err
	}
	e := newEngine(ctx, p, t)
	last := events[len(events)-1]
	e.slept = max(0, time.Since(time.UnixMilli(int64(turn.When(last)))))
	t.started = e.clock(turn.When(accepted))
	t.events.replay(true)
	out, err := e.replay(events)
	t.events.replay(false)
	if err != nil {
		return nil, err
	}
	if limits := accepted.Budget; !limits.None() {
		e.purse = newPurse(limits)
	}
	if err := e.apply(turn.Resumed{At: e.now()}); err != nil {
		return nil, err
	}
	for _, w := range out {
		e.begin(w)
	}
	p.run(ctx, e)
	return t, nil
}

// journal reads the events of a turn.
func (p *Panel) journal(ctx context.Context, session string, number int) ([]turn.Event, error) {
	events, err := readJournal(ctx, p.opts.Store, session, number)
	if err == nil && len(events) == 0 {
		err = errors.New("its journal is empty")
	}
	return events, err
}

// readJournal reads the events of a turn as a store has them.
func readJournal(ctx context.Context, store Journal, session string, number int) ([]turn.Event, error) {
	journal, err := store.Journal(ctx, session, number)
	if err != nil {
		return nil, err
	}
	var events []turn.Event
	for i, data := range journal {
		ev, err := turn.Decode(data)
		if err != nil {
			return nil, fmt.Errorf("event %d of its journal: %w", i+1, err)
		}
		events = append(events, ev)
	}
	return events, nil
}

// replay applies the events of a journal and returns the effects and questions that have
// no result there, in the order in which they were asked for.
func (e *engine) replay(events []turn.Event) (out []work, err error) {
	for _, ev := range events {
		commands, err := e.machine.Apply(ev)
		if err != nil {
			return nil, err
		}
		if key, ok := turn.KeyOf(ev); ok {
			out = slices.DeleteFunc(out, func(w work) bool { return w.key() == key })
		}
		out = append(out, e.do(commands)...)
		e.keep(ev)
	}
	return out, nil
}
