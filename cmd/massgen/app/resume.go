package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// resume finishes the turn that a process left.
func (s *session) resume(ctx context.Context) error {
	t, err := s.panel.Resume(ctx, s.id)
	var difference *coordinator.Difference
	switch {
	case errors.Is(err, sessions.ErrBusy): // another process came first
		return exitError{ExitFailed, s.refused(ctx, fmt.Errorf("--continue: %w", err))}
	case errors.As(err, &difference):
		err = fmt.Errorf("--continue: %w; --continue --fresh starts the turn over", err)
		return errors.Join(err, showDifference(s.console.err, difference))
	case err != nil:
		return fmt.Errorf("--continue: %w", err)
	}
	if s.display() {
		s.console.say("turn %d goes on: %s", t.Number(), quoted(t.Question()))
	}
	result, err := s.watchTurn(ctx, t, s.watch.take())
	return s.finish(result, err)
}

// startOver gives up the turn that a process left, and asks its question again.
func (s *session) startOver(ctx context.Context) error {
	left := s.unfinished
	if left == nil {
		return fmt.Errorf("--fresh: no turn of session %s is left to finish: leave it out", oneLine(s.id))
	}
	question, err := s.panel.Abandon(ctx, s.id)
	if err != nil {
		return fmt.Errorf("--fresh: %w", err)
	}
	s.unfinished = nil
	if s.display() {
		s.console.say("turn %d is left without an answer, and its question asked anew: %s", left.Number, quoted(question))
	}
	result, err := s.ask(ctx, question, s.watch.take())
	return s.finish(result, err)
}
