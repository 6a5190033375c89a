package talk

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/inputs"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// resume finishes the turn that a process left.
func (s *session) resume(ctx context.Context) error {
	if len(s.options.Attach.Files) > 0 {
		return errAttachedToNothing
	}
	t, err := s.asked.panel.Continue(ctx, s.chat.id)
	if s.engine != nil && errors.Is(err, sessions.ErrNoSession) {
		if t, err = s.takeOver(ctx); err == nil && t == nil {
			return s.showLast(ctx)
		}
	}
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
	return s.finish(s.watchTurn(ctx, t, false, s.term.watch.Take()))
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
	return s.finish(s.watchTurn(ctx, t, false, s.term.watch.Take()))
}

// Work plays the turns of others until an interrupt.
func Work(ctx context.Context, p *program.Program, words []string) (err error) {
	switch {
	case len(words) > 0:
		return errors.New("worker: it takes no question")
	case p.Options.Cluster.Detach:
		return errors.New("worker: it takes no --detach, which is for a question")
	case p.Kept.Database() == "":
		return fmt.Errorf("worker: it needs --database URL, or %s: the store that all workers share", cmdline.DatabaseVariable)
	}
	p.Options.Display.NoDisplay, p.Options.Cluster.Engine = true, cmdline.LocalEngine
	p.Options.Worker = true
	p.Options.WaitForServers()
	if err := p.Options.Cluster.CheckBuild(); err != nil {
		return err
	}
	if p.Log, err = cmdline.ServiceLog(p.Env, p.Console, &p.Options.Display, p.Options.Display.LogLevel); err != nil {
		return err
	}
	registry := metrics.New()
	registry.Process(cmdline.Version())
	monitor := health.New(p.Log, registry, health.Temporal, health.Database, health.Worker)
	p.Engines.Log, p.Engines.Metrics, p.Engines.Health = p.Log, registry, monitor
	p.Options.Metrics = registry
	at, err := p.Engines.Address()
	if err != nil {
		return err
	}
	if address := p.Options.Display.MetricsListen; address != "" {
		stop, err := program.Show(ctx, address, registry, monitor, p.Log)
		if err != nil {
			return err
		}
		defer stop()
	}
	s, err := openSession(ctx, p, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	p.Env.Cluster.Measure(registry)
	monitor.Watch(health.Database, func(ctx context.Context) error {
		_, err := s.store.Sessions.List(ctx, sessions.Filter{Limit: 1})
		return err
	})
	monitor.Watch(health.Disk, func(context.Context) error { return s.store.CheckRoom() })
	watching, endWatching := context.WithCancel(ctx)
	var watched sync.WaitGroup
	defer watched.Wait()
	defer endWatching()
	watched.Go(func() { monitor.Run(watching) })
	working, now, stop := p.Watch.Contexts(ctx)
	defer stop()
	p.Console.Say("massgen: working for the queue %s of Temporal at %s, with %s", at.Queue, at.Address, s.asked.panel.Names())
	if at.Build != "" {
		p.Console.Say("massgen: new turns come to this build after: temporal worker deployment set-current-version --deployment-name %s --build-id %s", at.Deployment, at.Build)
	}
	drain := p.Options.Cluster.Drain
	defer context.AfterFunc(working, func() {
		monitor.Drains()
		p.Console.Say("massgen: this worker takes no more work, and what is under way may go on for %v: a second signal ends it at once", drain.Longest)
	})()
	o := cmdline.WorkOptions{Redact: p.Console.Secrets.Redact, Drain: drain, Now: now, Model: modelName(s.asked.config.File), Traces: s.exporter}
	_, err = cmdline.WaitForServer(working, p.Console, func() (struct{}, error) {
		return struct{}{}, p.Env.Cluster.Work(working, at, s.asked.panel.Coordinator(), o)
	})
	return err
}

// modelName returns the name under which a server offers the panel of a config file.
func modelName(file string) string {
	return strings.TrimSuffix(filepath.Base(strings.TrimPrefix(file, "@examples/")), filepath.Ext(file))
}

// attached returns the context of a question with its files. The first question has those of --attach,
// too.
func attached(ctx context.Context, s *session) context.Context {
	ctx = attach.With(ctx, slices.Concat(attach.Of(ctx), s.options.Attach.Files))
	s.options.Attach.Files = nil
	if files := attach.Of(ctx); len(files) > 0 {
		names := make([]string, len(files))
		for i, f := range files {
			names[i] = f.Name
		}
		s.feed.remark("attached: %s", strings.Join(names, ", "))
	}
	return ctx
}

// errAttachedToNothing is for a command line that goes on with a question that was asked.
var errAttachedToNothing = errors.New("--attach: --continue without a question goes on with the turn that was interrupted, which has its files: give a question, or leave --attach out")
