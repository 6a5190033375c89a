package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/sessions"
)

// carry gives the agents of a panel whose context carries tools their tool calls of earlier turns, with the
// results. An agent alone has them in its history.
func (p *Panel) carry(ctx context.Context, d *effect.Turn) error {
	if len(d.Agents) == 1 {
		return nil
	}
	var before *turn.Machine // of the last turn with an answer; nil if there is none
	isRead := false
	for i, a := range p.opts.Agents {
		if a.Context.Policy.Carry != policy.CarryTools {
			continue
		}
		carry := &effect.Carry{Bytes: policy.CarriedBytes(a.Context.Window, prices.BytesPerToken)}
		d.Agents[i].Carry = carry
		if !isRead {
			var err error
			if before, err = p.lastTurn(ctx, d); err != nil {
				return fmt.Errorf("read the tool calls of earlier turns: %w", err)
			}
			isRead = true
		}
		if before == nil {
			continue
		}
		for j, old := range before.Turn().Agents {
			if old.ID == a.ID {
				carry.Earlier = carry.With(before.Carried(j), nil)
			}
		}
	}
	return nil
}

// lastTurn replays the last turn with an answer, without any call. It is nil if the session has no such turn, or
// no journal of it any more, such as a branch whose parent is deleted.
func (p *Panel) lastTurn(ctx context.Context, d *effect.Turn) (*turn.Machine, error) {
	for past, err := range sessions.History(ctx, p.opts.Store, d.History) {
		if err != nil {
			return nil, err
		}
		session, err := p.owner(ctx, d.Session, past.Number)
		if err != nil || session == "" {
			return nil, err
		}
		events, err := readJournal(ctx, p.opts.Store, session, past.Number)
		if err != nil || len(events) == 0 {
			return nil, err
		}
		m := new(turn.Machine)
		for _, ev := range events {
			if _, err := m.Apply(ev); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return nil, nil
}

// owner returns the session that has the journal of a turn, the parent's for a turn that a branch shares; "" if that
// is deleted.
func (p *Panel) owner(ctx context.Context, id string, number int) (string, error) {
	for {
		s, err := p.opts.Store.Session(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrNoSession):
			return "", nil
		case err != nil:
			return "", err
		case number > s.ParentTurn || s.Parent == "":
			return id, nil
		}
		id = s.Parent
	}
}
