package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// goOnFrom returns what branches off a session at the start of a round, and goes on live in the session as.
func goOnFrom(p *program) rerun {
	return func(ctx context.Context, kept sessions.Session, from coordinator.Point, as string) error {
		return goOnIn(ctx, p, kept, from, as)
	}
}

func goOnIn(ctx context.Context, p *program, kept sessions.Session, from coordinator.Point, as string) (err error) {
	if !isPath(p.options.session.id) {
		p.options.session.id = as
	}
	p.log = p.logger()
	s, err := openSession(ctx, p, kept.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.chat = conversation{id: as}
	t, err := s.asked.panel.Rerun(ctx, from, as)
	var difference *coordinator.Difference
	if errors.As(err, &difference) {
		err = errors.Join(err, showDifference(s.console.err, difference))
	}
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	s.console.say("massgen: turn %d of session %s goes on from round %d in session %s", from.Turn, plain.Line(kept.ID), from.Round, plain.Line(as))
	return s.finish(s.watchTurn(ctx, t, s.term.watch.take()))
}
