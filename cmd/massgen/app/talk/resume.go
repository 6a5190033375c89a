package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/inputs"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// resume finishes the turn that a process left.
func (s *session) resume(ctx context.Context) error {
	if len(s.options.Attach.Files) > 0 {
		return errAttachedToNothing
	}
	t, err := s.asked.panel.Continue(ctx, s.chat.id)
	var difference *coordinator.Difference
	switch {
	case errors.Is(err, sessions.ErrBusy): // another process came first
		return cmdline.WithStatus(cmdline.ExitFailed, s.refused(ctx, fmt.Errorf("--continue: %w", err)))
	case errors.As(err, &difference):
		err = fmt.Errorf("--continue: %w; --continue --fresh starts the turn over", err)
		return errors.Join(err, inputs.ShowDifference(s.console.Err, difference))
	case err != nil:
		return fmt.Errorf("--continue: %w", err)
	}
	if s.feed.isShown() {
		s.console.Say("turn %d goes on: %s", t.Number(), wording.Quoted(t.Question()))
	}
	return s.finish(s.watchTurn(ctx, t, s.term.watch.Take()))
}

// startOver gives up the turn that a process left, and asks its question again.
func (s *session) startOver(ctx context.Context) error {
	left := s.chat.unfinished
	if left == nil {
		return fmt.Errorf("--fresh: no turn of session %s is left to finish: leave it out", plain.Line(s.chat.id))
	}
	question, files, err := s.asked.panel.Abandon(ctx, s.chat.id)
	if err != nil {
		return fmt.Errorf("--fresh: %w", err)
	}
	ctx = attach.With(ctx, files)
	s.chat.unfinished = nil
	if s.feed.isShown() {
		s.console.Say("turn %d is left without an answer, and its question asked anew: %s", left.Number, wording.Quoted(question))
	}
	return s.finish(s.ask(ctx, question, s.term.watch.Take()))
}

// continuing returns the command that goes on with the session's turn, with the same panel and store. It
// leaves out a system message, and the addresses of an engine and a database.
func (s *session) continuing() string {
	o, id := s.options, s.chat.id
	if s.kept.IsFile() {
		id = o.Session.ID
	}
	words := []string{s.kept.ProgramName()}
	for _, flag := range [][2]string{
		{"--engine", o.Cluster.Engine}, {"--config", o.Panel.Config}, {"--backend", o.Panel.Backend}, {"--model", o.Panel.Model}, {"--models", o.Panel.Models},
		{"--base-url", o.Panel.BaseURL}, {"--state-dir", o.Session.StateDir}, {"--session-id", id},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], s.kept.Shown(flag[1]))
		}
	}
	return strings.Join(append(words, "--continue"), " ")
}
