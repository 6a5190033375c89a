package talk

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/inputs"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// Rerun returns the function of massgen replay --from.
func Rerun(p *program.Program) inputs.Rerun {
	return func(ctx context.Context, kept sessions.Session, from coordinator.Point, as string) error {
		return goOnIn(ctx, p, kept, from, as)
	}
}

func goOnIn(ctx context.Context, p *program.Program, kept sessions.Session, from coordinator.Point, as string) (err error) {
	if !cmdline.IsPath(p.Options.Session.ID) {
		p.Options.Session.ID = as
	}
	p.Log = p.Logger()
	s, err := openSession(ctx, p, kept.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.chat = conversation{id: as}
	t, err := s.asked.panel.Rerun(ctx, from, as)
	var difference *coordinator.Difference
	if errors.As(err, &difference) {
		err = errors.Join(err, inputs.ShowDifference(s.console.Err, difference))
	}
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	s.console.Say("massgen: turn %d of session %s goes on from round %d in session %s", from.Turn, plain.Line(kept.ID), from.Round, plain.Line(as))
	return s.finish(s.watchTurn(ctx, t, s.term.watch.Take()))
}
