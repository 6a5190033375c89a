package talk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/system/sleep"
	"github.com/massgen/massgen/sessions"
)

// checkDetach returns an error if --detach has no question, or if this process would play the turn.
func (s *session) checkDetach(given bool) error {
	switch {
	case !s.options.Cluster.Detach:
		return nil
	case s.engine == nil:
		return errors.New("--detach: workers must play the turn: leave out --engine local, or --detach")
	case !given:
		return errors.New("--detach: it needs a question")
	}
	return nil
}

// detach begins a turn, leaves it to the workers, and prints the id of its session. With --json it prints the result
// as it is now, whose status is running.
func (s *session) detach(ctx context.Context, question string) error {
	s.term.given = true
	signals := s.term.watch.Take()
	t, isInterrupted, err := s.start(ctx, question, signals)
	if err == nil && isInterrupted {
		t.Cancel()
		_, err = t.Wait(ctx)
		return s.finish(report.Result{}, errors.Join(err, cmdline.ErrQuit))
	}
	if err != nil {
		return s.finish(report.Result{}, err)
	}
	s.memory.keep(ctx, &s.chat, s.asked.known)
	t.Leave()
	s.turn = t
	s.sayGoesOn()
	text := s.chat.id
	if s.options.Display.JSON {
		r, err := s.lastResult(ctx)
		if err == nil {
			text, err = plain.JSONLine(r)
		}
		if err != nil {
			return s.finish(r, fmt.Errorf("--detach: %w", err))
		}
	}
	err = s.results.print(s.chat.id, text)
	s.term.watch.Give(time.Time{})
	if err != nil {
		return cmdline.WithStatus(cmdline.ExitFailed, err)
	}
	return nil
}

// sayGoesOn says how to watch a turn again that workers go on with.
func (s *session) sayGoesOn() {
	s.console.Say("massgen: the workers go on with the turn; %s watches it, and has its answer", s.continuing())
}

// lastResult returns the result of the session's last turn, or what it has so far.
func (s *session) lastResult(ctx context.Context) (report.Result, error) {
	of, err := s.store.Sessions.Session(ctx, s.chat.id)
	if err != nil {
		return report.Result{}, err
	}
	last, _, err := archive.LastTurn(ctx, s.store, s.chat.id)
	if err != nil {
		return report.Result{}, err
	}
	r, err := inspect.Result(ctx, s.store.Sessions, of, last)
	if err != nil { // what can be read is shown
		s.console.Warn(err.Error())
	}
	return r, nil
}

// showLast prints the answer of the session's last turn, which is over.
func (s *session) showLast(ctx context.Context) error {
	r, err := s.lastResult(ctx)
	if err != nil {
		return cmdline.WithStatus(cmdline.ExitFailed, fmt.Errorf("--continue: %w", err))
	}
	s.term.watch.Take()
	return s.finish(r, nil)
}

// heldPatience is how long a program waits until lost workers count as gone, and the session of their turn is free.
const heldPatience = 3 * time.Minute

// takeOver goes on here with a turn whose workflow has ended without the turn: it was terminated, or has failed. t is
// nil without an error if the turn is over by now.
func (s *session) takeOver(ctx context.Context) (t *coordinator.Turn, err error) {
	now := conversation{id: s.chat.id}
	if err := now.load(ctx, s.store, true, s.console.Warn); err != nil || now.unfinished == nil {
		return nil, err
	}
	s.console.Say("massgen: the workers have ended the turn unfinished: this program goes on with it")
	err = s.engine.Connection.Close()
	s.engine = nil
	var panel *massgen.Panel
	if err == nil {
		panel, err = massgen.Load(ctx, s.asked.config.File, program.Settled(s.settings(s.asked.config)))
	}
	if err != nil {
		return nil, err
	}
	s.replacePanel(asked{s.asked.config, panel, s.asked.known})
	for end := time.Now().Add(heldPatience); ; {
		t, err := panel.Continue(context.WithoutCancel(ctx), s.chat.id)
		if !errors.Is(err, sessions.ErrBusy) || time.Now().After(end) {
			return t, err
		}
		if err := sleep.For(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// leaves reports whether a signal ends this program and not the turn, which workers play.
func (s *session) leaves(signal os.Signal) bool {
	return s.engine != nil && cmdline.EndsProgram(signal)
}
