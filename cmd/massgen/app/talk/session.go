// Package talk asks panels: a question, a conversation at a prompt, or one in full screen.
package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/tui"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/permission"
	"github.com/massgen/massgen/internal/tools/schema"
	"github.com/massgen/massgen/sessions"
)

// session is a panel that is asked and shown, in one conversation at a time.
type session struct {
	console  *cmdline.Console
	options  *cmdline.Options
	log      *slog.Logger
	kept     *archive.Archive
	panels   *program.Panels
	chat     conversation
	asked    asked
	term     *terminal
	feed     feed
	results  results
	memory   memory
	store    *store.Store
	engine   *program.Remote     // nil for turns that are played here
	turn     *coordinator.Turn   // the last one, as long as something may follow its answer
	exporter *telemetry.Exporter // nil for none
}

// asked is the panel that is asked.
type asked struct {
	config *configs.Config
	panel  *massgen.Panel
	known  archive.Remembered // the panel as a session stores it
}

// ids returns the ids of the panel's agents.
func (a asked) ids() (ids []string) {
	for _, agent := range a.config.Agents {
		ids = append(ids, agent.ID)
	}
	return ids
}

// folders returns the absolute paths of the agents' folders, "" for an agent without one.
func (a asked) folders() (dirs []string) {
	for _, agent := range a.config.Agents {
		dir := agent.Tools.CWD
		if dir != "" {
			if path, err := filepath.Abs(dir); err == nil {
				dir = path
			}
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// close closes the panel, if there is one.
func (a asked) close() error {
	if a.panel == nil {
		return nil
	}
	return a.panel.Close()
}

// openSession opens the store, the session and its panel. It calls no model. The panel comes from
// the flags, else from the session like, else from the session that is continued.
func openSession(ctx context.Context, p *program.Program, like string) (*session, error) {
	s := &session{
		console: p.Console, options: &p.Options, log: p.Log, kept: p.Kept, panels: p.Panels,
		term: &terminal{console: p.Console, env: p.Env, watch: p.Watch, requests: make(chan request), screen: &tui.Screen{}},
	}
	s.feed = feed{p.Console, p.Env, p.Log, &p.Options.Display, &s.asked, s.term, nil}
	s.results = results{answers: answers{p.Console, p.Env, p.Watch, &p.Options.Display}, kept: p.Kept, feed: &s.feed}
	if err := p.Options.Display.Check(); err != nil {
		return nil, err
	}
	warn := func(text string) {
		s.results.notices = append(s.results.notices, text)
		s.console.Warn(text)
	}
	world := cmdline.NewWorld(p.Env, warn)
	world.HideKeys(p.Console.Secrets)
	s.exporter = program.NewExporter(p.Env, p.Console)
	var err error
	if s.term.granted, err = permission.OpenGrants(store.ConfigFolder(p.Env.Lookup)); err != nil {
		p.Console.Warn("what you always allow is not read: " + err.Error())
	}
	var config *configs.Config
	if p.Options.Panel.IsNamed() || like == "" && !p.Options.Session.MayGoOn() { // a fault in it leaves all as it was
		if config, err = p.Panels.Load(world); err != nil {
			return nil, err
		}
	}
	p.Options.Session.IsBusy = p.Options.Cluster.Engine == cmdline.LocalEngine
	var notice string
	if s.store, notice, err = p.Kept.OpenToAsk(ctx); err != nil {
		return nil, err
	}
	if notice != "" {
		warn(notice)
	}
	s.results.store = s.store
	s.memory = memory{p.Console, p.Env.Lookup, &p.Options.Panel, &p.Options.Budget, world, s.store}
	if s.chat.id, err = p.Kept.SessionID(ctx, s.store); err == nil && config != nil && config.SessionID != "" && p.Options.Session.ID == "" && !p.Options.Session.GoOn {
		if s.chat.id, err = config.SessionID, sessions.CheckID(config.SessionID); err != nil {
			err = fmt.Errorf("session_id in %s: %w", plain.Line(config.File), err)
		}
	}
	if err == nil {
		s.engine, err = p.Engines.Connect(ctx, p.Kept.Database())
	}
	if err == nil {
		s.asked, s.chat.remembers, err = s.choosePanel(ctx, cmp.Or(like, s.chat.id), config)
	}
	if err == nil {
		err = s.load(ctx)
	}
	if err == nil {
		err = s.checkContinue(ctx)
	}
	if err == nil {
		s.feed.run, err = openRunLog(p)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.introduce()
	return s, nil
}

// connect connects a panel.
func (s *session) connect(ctx context.Context, config *configs.Config, known archive.Remembered) (a asked, err error) {
	if limit := s.options.Panel.TurnLimit; limit > 0 {
		config.Orchestrator.Rules.TurnLimit = limit
	}
	config.Budget = s.options.Budget.Over(known.SessionBudget()).Over(config.Budget)
	program.WorkIn(config, known.CWD)
	if err := s.options.Mode.Apply(config); err != nil {
		return a, err
	}
	panel, err := massgen.Load(ctx, config.File, program.Settled(s.settings(config)))
	if err != nil {
		return a, err
	}
	return asked{config, panel, known}, nil
}

// replacePanel closes the panel and asks another one from now on.
func (s *session) replacePanel(other asked) {
	if err := s.asked.close(); err != nil {
		s.console.Warn(err.Error())
	}
	s.asked = other
}

// settings returns the settings of a panel of the session.
func (s *session) settings(config *configs.Config) panels.Settings {
	settings := panels.Settings{
		Settings: providers.Settings{World: s.memory.world, Config: config, Secrets: s.console.Secrets, Log: s.log, Metrics: s.options.Metrics}, Store: s.store,
		Telemetry: s.exporter, Override: s.options.Budget, ForOthers: s.options.Worker, Listener: panels.Listener{Warn: s.console.Warn},
	}
	if dir := s.options.Display.DumpInputs; dir != "" {
		settings.Record = &debugbackend.Options{Dir: dir, Keep: 1}
		settings.NotRecorded = func(err error) { // the exit status is the result's
			s.console.Complain(fmt.Errorf("--dump-inputs: %w", err))
		}
	}
	if folder := s.options.Logs.Folder(s.memory.lookup); folder != "" {
		settings.Hidden = []string{folder}
	}
	if s.engine != nil {
		settings.Engine = s.engine
	}
	if s.options.Worker {
		return settings
	}
	settings.Granted = s.term.granted
	if s.kept.CanAsk() {
		settings.Approve = s.term.approve
	}
	settings.Waiting = func(servers []string) { // while the session has no panel, or another one
		if s.feed.shows(config) {
			s.console.Say("%s", s.console.Paint(cmdline.Faint, "waiting for MCP servers to start: "+plain.Line(plain.List(servers))))
		}
	}
	settings.TopicChanged, settings.Remembered = s.feed.showTopic, s.feed.showFacts
	return settings
}

// load reads what the store has of the session.
func (s *session) load(ctx context.Context) error {
	return s.chat.load(ctx, s.store, s.engine != nil && s.options.Session.GoOn, s.console.Warn)
}

// checkContinue returns an error if --continue has no session, or if another process uses it.
func (s *session) checkContinue(ctx context.Context) error {
	switch {
	case !s.options.Session.GoOn:
	case s.chat.busy:
		return cmdline.WithStatus(cmdline.ExitFailed, s.refused(ctx, fmt.Errorf("--continue: %w", sessions.ErrBusy)))
	case s.chat.turns == 0 && s.chat.unfinished == nil:
		return fmt.Errorf("--continue: there is no session %s in %s: leave --continue out to begin it", plain.Line(s.chat.id), s.store.Path())
	}
	return nil
}

// ask runs one turn and shows its progress. The first interrupt ends the turn with the best answer so far;
// the second returns cmdline.ErrQuit.
func (s *session) ask(ctx context.Context, question string, signals <-chan os.Signal) (report.Result, error) {
	t, isInterrupted, err := s.start(ctx, question, signals)
	if err != nil {
		return report.Result{}, err
	}
	result, err := s.watchTurn(ctx, t, isInterrupted, signals)
	if note := charset.Note(question); note != "" {
		result.Warnings = append(result.Warnings, note)
	}
	return result, err
}

// start begins a turn until an interrupt. The error is cmdline.ErrQuit after one.
func (s *session) start(ctx context.Context, question string, signals <-chan os.Signal) (t *coordinator.Turn, isInterrupted bool, err error) {
	if s.engine != nil {
		s.engine.Interrupts = signals
	}
	t, isInterrupted, err = s.beginUntil(ctx, question, signals)
	if err != nil && !errors.Is(err, cmdline.ErrQuit) {
		err = s.refused(ctx, fmt.Errorf("question: %w", err))
	}
	return t, isInterrupted, err
}

// begin begins a turn. The transaction of its first event also stores the panel, if the session has to
// store one. If workers play the turn, or the session was deleted, memory.keep stores the panel after the
// first event.
func (s *session) begin(ctx context.Context, question string) (*coordinator.Turn, error) {
	ctx = attached(schema.With(ctx, s.options.Panel.Schema), s)
	before := s.chat
	var forgets error
	if s.engine == nil {
		forgets = s.memory.remember(&s.chat, s.asked.known, func(metadata map[string]string) error {
			ctx = sessions.WithMetadata(ctx, s.chat.id, metadata)
			return nil
		})
	}
	t, err := s.asked.panel.Ask(ctx, s.chat.id, question)
	switch {
	case err != nil:
		s.chat = before
	case forgets != nil:
		s.console.Warn(forgets.Error())
	}
	if err == nil && s.chat.advance(t.Number()) {
		s.console.Warn(fmt.Sprintf("session %s was deleted by another process: this question begins it anew, without its history", s.chat.id))
	}
	return t, err
}

// refused adds to the error of a busy session the command that makes a copy of the session.
func (s *session) refused(ctx context.Context, err error) error {
	if !errors.Is(err, sessions.ErrBusy) {
		return err
	}
	if _, noTurn := archive.LastEnded(ctx, s.store, s.chat.id); noTurn != nil {
		return err // there is nothing to make a copy of
	}
	return fmt.Errorf("%w; %s makes a copy to go on with", err, s.kept.Command("sessions", "branch", s.chat.id))
}

// watchTurn shows a turn's progress until it is over. See ask for the interrupts; isInterrupted reports
// whether the first one has come.
func (s *session) watchTurn(ctx context.Context, t *coordinator.Turn, isInterrupted bool, signals <-chan os.Signal) (report.Result, error) {
	s.memory.keep(ctx, &s.chat, s.asked.known)
	shown, cut := make(chan struct{}), make(chan struct{}, 1)
	state := report.NewState(s.asked.ids()...)
	state.Mask = s.console.Secrets.Redact
	s.term.live = openLive(s, state)
	defer s.term.live.end()
	logged := s.feed.run.follow(ctx, t, s.asked)
	go func() {
		defer close(shown)
		s.feed.follow(ctx, t, state, cut)
	}()
	interrupt := func() {
		isInterrupted = true
		cut <- struct{}{}
		t.Cancel()
	}
	leave := func() (report.Result, error) {
		s.term.terminated = true
		t.Leave()
		logged(report.Result{Status: kernel.Cut}, coordinator.ErrLeft)
		return report.Result{}, coordinator.ErrLeft
	}
	switch {
	case s.engine != nil && s.engine.IsLeft:
		return leave()
	case isInterrupted:
		interrupt()
	}
	person := prompter{term: s.term, ctx: ctx, turn: t}
	defer person.release()
	person.attend()
	for {
		select {
		case r := <-person.requests():
			person.put(r)
		case l := <-person.lines:
			person.take(l)
		case <-person.gone:
			person.leave()
		case <-shown:
			person.notes.Wait()
			r, err := t.Wait(ctx)
			logged(r, err)
			s.term.cut = time.Time{}
			if isInterrupted {
				s.term.cut = time.Now()
			}
			hideReasons(r, s.console.Secrets.Redact)
			s.turn = t
			s.chat.unfinished, s.chat.busy = nil, false
			r.Warnings = append(s.results.allNotices(), r.Warnings...)
			return r, err
		case signal := <-signals:
			switch {
			case isInterrupted && signal == syscall.SIGHUP:
				continue // it comes from the terminal and from the shell, and neither waits
			case isInterrupted:
				logged(report.Result{Status: kernel.Cut}, cmdline.ErrQuit)
				return report.Result{}, cmdline.ErrQuit
			case s.leaves(signal):
				return leave()
			}
			s.term.terminated = cmdline.EndsProgram(signal)
			interrupt()
		}
	}
}

// hideReasons masks the secrets in the reasons of votes, before a reason is cut in the middle of one.
func hideReasons(r report.Result, redact func(string) string) {
	for _, votes := range [][]report.ResultVote{r.Votes, r.VoidVotes} {
		for i := range votes {
			votes[i].Reason = redact(votes[i].Reason)
		}
	}
}

// once answers one question.
func (s *session) once(ctx context.Context, question string) error {
	if left := s.chat.unfinished; left != nil && s.options.Session.GoOn {
		return fmt.Errorf("--continue: turn %d of session %s was interrupted (%s): without a question --continue finishes it; %s with a question leaves it without an answer",
			left.Number, plain.Line(s.chat.id), wording.Quoted(left.Question), strings.Join(s.kept.SessionFlags(s.chat.id), " "))
	}
	if s.options.Cluster.Detach {
		return s.detach(ctx, question)
	}
	s.term.given = true
	return s.finish(s.ask(ctx, question, s.term.watch.Take()))
}

// finish delivers a turn's result, and returns the error that the program ends with.
func (s *session) finish(result report.Result, err error) error {
	s.term.watch.Give(s.term.deafUntil())
	switch {
	case errors.Is(err, cmdline.ErrQuit):
		return cmdline.WithStatus(cmdline.ExitInterrupted, nil)
	case errors.Is(err, coordinator.ErrLeft):
		s.sayGoesOn()
		return cmdline.WithStatus(cmdline.ExitInterrupted, nil)
	case errors.As(err, &attach.RefusedError{}):
		return cmdline.WithStatus(cmdline.ExitUsage, err)
	case err != nil:
		return cmdline.WithStatus(cmdline.ExitFailed, err)
	}
	code, err := s.results.deliver(result)
	s.settle(context.Background(), s.term.watch.Take())
	if err == nil {
		s.term.watch.Finish(code)
	} else {
		s.term.watch.Give(time.Time{}) // the error is not printed yet
	}
	return cmdline.WithStatus(code, err)
}

// close ends what the session has opened.
func (s *session) close() error {
	s.term.closeKeyboard()
	var err error
	if s.engine != nil {
		err = s.engine.Connection.Close()
	}
	err = errors.Join(err, s.feed.run.close(), s.asked.close(), s.store.Close())
	if s.exporter != nil {
		s.exporter.Close()
	}
	return err
}
