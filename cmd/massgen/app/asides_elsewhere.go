package app

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
)

// handling is what a session does with a call that belongs to no agent: what it asks, how it
// reads the reply, and how it stores and tells of what that has come to.
type handling struct {
	ask   func(*session, context.Context, coordinator.AsideTurn) ([]backends.Message, []backends.Tool, error)
	read  func(*session, context.Context, coordinator.AsideTurn, backends.Message) (coordinator.AsideReply, error)
	store func(*session, context.Context, string, []byte) error
	hear  func(*session, []byte) error
}

// aside makes such a call for the session, or, in a worker, for the sessions of others. It
// is stored where the turn is played, and told of where somebody watches it.
func (s *session) aside(h *helper, a handling) *coordinator.Aside {
	return &coordinator.Aside{
		Helper: h.helper(),
		Ask: func(ctx context.Context, t coordinator.AsideTurn) ([]backends.Message, []backends.Tool, error) {
			own, err := s.of(ctx, t.Session)
			if err != nil {
				return nil, nil, err
			}
			return a.ask(own, ctx, t)
		},
		Read: func(ctx context.Context, t coordinator.AsideTurn, reply backends.Message) (coordinator.AsideReply, error) {
			own, err := s.of(ctx, t.Session)
			if err != nil {
				return coordinator.AsideReply{}, err
			}
			return a.read(own, ctx, t, reply)
		},
		Keep: func(ctx context.Context, id string, kept []byte) error {
			own, err := s.of(ctx, id)
			if err == nil && s.engine == nil {
				err = a.store(own, ctx, id, kept)
			}
			switch {
			case err != nil && s.options.worker: // the result is told by who watches
				s.console.warn(fmt.Sprintf("session %s: %v", oneLine(id), err))
			case err == nil && !s.options.worker:
				err = a.hear(own, kept)
			}
			return err
		},
	}
}

// of is the session that a turn belongs to: this one, or, in a worker, that of others, with
// what is known of its topic.
func (s *session) of(ctx context.Context, id string) (*session, error) {
	if !s.options.worker {
		return s, nil
	}
	other := *s
	other.place = place{id: id}
	if err := other.refreshTopic(ctx); err != nil {
		return nil, err
	}
	other.takePage()
	return &other, nil
}
