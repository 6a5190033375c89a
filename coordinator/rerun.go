package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// Point is a moment in a turn: the start of a round.
type Point struct {
	Session string
	Turn    int
	// Round counts from 1. With the pace eager it is the first start with that number.
	Round int
}

// Rerun branches off a session within a turn: a new session, whose id must not exist yet, gets
// the turns before that one, and the part of its journal before the point. From there the turn
// goes on as after Resume, with a panel of the same agents and models. The original session does not
// change. After an error there is no new session.
func (p *Panel) Rerun(ctx context.Context, from Point, to string) (*Turn, error) {
	t, err := p.rerun(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("go on from round %d of turn %d of session %s: %w", from.Round, from.Turn, from.Session, err)
	}
	return t, nil
}

func (p *Panel) rerun(ctx context.Context, from Point, to string) (*Turn, error) {
	if p.opts.Remote != nil {
		return nil, errors.New("only a panel that plays its own turns can do that: add --engine local")
	}
	store := p.opts.Store
	events, err := readJournal(ctx, store, from.Session, from.Turn)
	if err != nil {
		return nil, err
	}
	accepted, err := p.accepted(events)
	if err != nil {
		return nil, err
	}
	if events, err = before(ctx, store, events, from.Round); err != nil {
		return nil, err
	}
	question, err := store.Get(ctx, accepted.Turn.Question)
	if err != nil {
		return nil, err
	}
	if err := branch(ctx, store, from, to); err != nil {
		return nil, err
	}
	begun, err := store.Begin(ctx, to, string(question))
	if err != nil && from.Turn > 1 {
		return nil, errors.Join(err, unbranch(ctx, store, to))
	}
	if err != nil { // the new session does not exist, or another process holds it
		return nil, err
	}
	accepted.Turn.Session = to
	events[0] = accepted
	var t *Turn
	err = whileHeld(
		func() (err error) { t, err = p.goOnIn(ctx, to, begun.Turn, events); return err },
		func() error {
			return errors.Join(store.Leave(context.WithoutCancel(ctx), to, begun.Turn), unbranch(ctx, store, to))
		},
	)
	return t, err
}

// goOnIn writes the copied part of a turn's journal, and goes on from there.
func (p *Panel) goOnIn(ctx context.Context, session string, number int, events []turn.Event) (*Turn, error) {
	journal, err := encoded(events)
	if err != nil {
		return nil, err
	}
	if err := p.opts.Store.Append(ctx, session, number, journal...); err != nil {
		return nil, err
	}
	return p.goOn(ctx, session, number, events, true)
}

// unbranch removes a session whose turn could not begin.
func unbranch(ctx context.Context, store Store, id string) error {
	err := store.Delete(context.WithoutCancel(ctx), id)
	if errors.Is(err, sessions.ErrNoSession) { // no event was written
		return nil
	}
	return err
}

// branch makes the new session with the turns before the point. Before the first turn it only checks
// that the session does not exist.
func branch(ctx context.Context, store Store, from Point, to string) error {
	if from.Turn > 1 {
		_, err := store.Branch(ctx, from.Session, from.Turn-1, to)
		return err
	}
	_, err := store.Session(ctx, to)
	switch {
	case err == nil:
		return sessions.Exists(to)
	case errors.Is(err, sessions.ErrNoSession):
		return nil
	}
	return err
}

// before returns the events up to the one that starts a round. They lack the results of work that was
// under way then.
func before(ctx context.Context, texts sessions.Texts, events []turn.Event, round int) ([]turn.Event, error) {
	f := newFollower(new(turn.Machine), texts)
	last := 0
	for i, ev := range events {
		commands, err := f.follow(ctx, ev)
		if err != nil {
			return nil, err
		}
		for _, c := range commands {
			started, ok := c.(turn.StepStarted)
			if ok && started.Round == round {
				return events[:i+1], nil
			}
			if ok {
				last = max(last, started.Round)
			}
		}
	}
	return nil, fmt.Errorf("it has %d rounds, and none with that number", last)
}
