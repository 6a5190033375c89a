package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/tui"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/setup/sidecalls"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/system/turnmeta"
	"github.com/massgen/massgen/internal/tools/grants"
	"github.com/massgen/massgen/internal/tools/schema"
	"github.com/massgen/massgen/sessions"
)

// session is a panel that is asked and shown, in one conversation at a time.
type session struct {
	*program
	conversation
	asked
	term     terminal
	memory   memory
	store    *store.Store
	engine   *clusterRemote      // nil for turns that are played here
	notices  []string            // what every result is to be read with
	turn     *coordinator.Turn   // the last one, as long as something may follow its answer
	exporter *telemetry.Exporter // nil for none
}

// asked is the panel that is asked.
type asked struct {
	config *configs.Config
	panel  *massgen.Panel
	known  remembered // what a session is to remember of it
}

// noticesAfter are the warnings that are printed with every result.
func (a asked) noticesAfter(others []string) []string {
	return append(append([]string{}, others...), a.panel.Notices()...)
}

// close closes the panel, if there is one.
func (a asked) close() error {
	if a.panel == nil {
		return nil
	}
	return a.panel.Close()
}

// conversation is what is known of the session that is talked in.
type conversation struct {
	id    string
	turns int // that were over when the program came to the session
	last  int // number of the last turn that the conversation knows, 0 for none
	// unfinished is the turn that a process left in this session, nil if there is none;
	// busy says that one is running, in another process.
	unfinished *sessions.Turn
	busy       bool
	// remembers reports that the session stores its panel already, or must not store one.
	remembers bool
	// rebudgeted is the panel that the session stores, with limits that flags of this run
	// changed; nil if they changed none.
	rebudgeted *remembered
}

// openSession opens the store, the session and its panel. It calls no model. The panel comes from
// the flags, else from the session like, else from the session that is continued.
func (p *program) openSession(ctx context.Context, like string) (*session, error) {
	s := &session{
		program: p,
		term: terminal{
			console: p.console, env: p.env, watch: p.watch, automation: p.options.display.automation, requests: make(chan request), screen: &tui.Screen{},
		},
	}
	if err := p.options.display.check(); err != nil {
		return nil, err
	}
	warn := func(text string) {
		s.notices = append(s.notices, text)
		s.console.warn(text)
	}
	world := p.world(warn)
	world.HideKeys(p.console.secrets)
	s.exporter = exporterOf(p)
	var err error
	if s.term.granted, err = grants.Open(store.ConfigFolder(p.env.Lookup)); err != nil {
		p.console.warn("what you always allow is not read: " + err.Error())
	}
	var config *configs.Config
	if p.options.panel.isNamed() || like == "" && !p.options.session.mayGoOn() { // a fault in it leaves all as it was
		if config, err = p.loadConfig(world); err != nil {
			return nil, err
		}
	}
	var notice string
	storage := p.storage()
	if s.store, notice, err = storage.openToAsk(ctx); err != nil {
		return nil, err
	}
	if notice != "" {
		warn(notice)
	}
	s.memory = memory{p, world, s.store}
	if s.id, err = storage.sessionID(ctx, s.store); err == nil {
		s.engine, err = p.connectEngine(ctx, storage.database())
	}
	if err == nil {
		s.asked, s.remembers, err = s.choosePanel(ctx, storage, cmp.Or(like, s.id), config)
	}
	if err == nil {
		err = s.load(ctx)
	}
	if err == nil {
		err = s.checkContinue(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.introduce()
	return s, nil
}

// connect connects a panel.
func (s *session) connect(ctx context.Context, config *configs.Config, known remembered) (a asked, err error) {
	if limit := s.options.panel.turnLimit; limit > 0 {
		config.Orchestrator.Rules.TurnLimit = limit
	}
	config.Budget = s.options.budget.Over(known.budget()).Over(config.Budget)
	workIn(config, known.CWD)
	panel, err := massgen.Load(ctx, config.File, settled(s.settings(config)))
	if err != nil {
		return a, err
	}
	return asked{config, panel, known}, nil
}

// settled is the option by which the program says all that a panel is made of.
func settled(s panels.Settings) massgen.Option {
	return func(of *panels.Settings) { *of = s }
}

// settings returns the settings of a panel of the session.
func (s *session) settings(config *configs.Config) panels.Settings {
	settings := panels.Settings{
		World: s.memory.world, Config: config, Store: s.store, Secrets: s.console.secrets, Log: s.log,
		Telemetry: s.exporter, Override: s.options.budget, ForOthers: s.options.worker, Listener: panels.Listener{Warn: s.console.warn},
	}
	if dir := s.options.display.dumpInputs; dir != "" {
		settings.Record = &debugbackend.Options{Dir: dir, Keep: 1}
		settings.NotRecorded = func(err error) { // the exit status is the result's
			s.console.complain(fmt.Errorf("--dump-inputs: %w", err))
		}
	}
	if s.engine != nil {
		settings.Engine = s.engine
	}
	if s.options.worker {
		return settings
	}
	settings.Granted = s.term.granted
	if s.term.canAsk() {
		settings.Approve = s.term.approve
	}
	settings.Waiting = func(servers []string) { // while the session has no panel, or another one
		if s.displayOf(config) {
			s.console.say("%s", s.console.paint(faint, "waiting for MCP servers to start: "+plain.Line(plain.List(servers))))
		}
	}
	settings.TopicChanged, settings.Remembered = s.showTopic, s.showFacts
	return settings
}

// load reads what the session has come to before.
func (s *session) load(ctx context.Context) error {
	kept, err := s.store.Session(ctx, s.id)
	switch {
	case errors.Is(err, sessions.ErrNoSession):
		return nil
	case err != nil:
		return err
	}
	if _, err := sidecalls.ReadTopic(kept); err != nil {
		s.console.warn(err.Error())
	}
	s.turns = kept.Turns
	last, left, err := lastTurn(ctx, s.store, s.id)
	s.last = last.Number
	switch {
	case err != nil || last.Status != sessions.Running:
		return err
	case left, s.engine != nil && s.options.session.goOn: // it may be played without this process
		s.unfinished = &last
	default:
		s.busy = true
	}
	s.turns--
	return nil
}

// checkContinue says why --continue has nothing to go on with, or must not.
func (s *session) checkContinue(ctx context.Context) error {
	switch {
	case !s.options.session.goOn:
	case s.busy:
		return exitError{ExitFailed, s.refused(ctx, fmt.Errorf("--continue: %w", sessions.ErrBusy))}
	case s.turns == 0 && s.unfinished == nil:
		return fmt.Errorf("--continue: there is no session %s in %s: leave --continue out to begin it", plain.Line(s.id), s.store.Path())
	}
	return nil
}

// lastTurn returns a session's last turn. One that has not ended is either left, by a
// process that is gone, or running.
func lastTurn(ctx context.Context, store *store.Store, id string) (last sessions.Turn, left bool, err error) {
	turns, err := store.Interrupted(ctx, id)
	left = len(turns) > 0
	if err == nil && !left {
		turns, err = store.Turns(ctx, id, 1)
	}
	if err != nil || len(turns) == 0 {
		return sessions.Turn{}, false, err
	}
	return turns[0], left, nil
}

// display reports whether progress is shown.
func (s *session) display() bool { return s.displayOf(s.config) }

// displayOf reports whether progress is shown for the panel of a config.
func (s *session) displayOf(config *configs.Config) bool {
	return !s.options.display.noDisplay && !s.options.display.quiet && !s.options.display.automation && config.UI.DisplayType != configs.DisplaySilent
}

// introduce says who will answer, and, display or not, when nobody real will.
func (s *session) introduce() {
	if s.options.display.quiet {
		return
	}
	if dir := s.options.display.dumpInputs; dir != "" && debugbackend.HoldsCalls(dir) {
		s.console.say("massgen: --dump-inputs: %s has calls of another session already; those of this one, %s, are added", dir, s.id)
	}
	if s.panel.IsDemo() {
		s.console.say("massgen: %s", panels.DemoNotice)
	}
	if !s.options.session.goOn {
		s.printUnended()
	}
	s.remark("panel: %s", s.panel.Names())
	if s.turns > 0 {
		s.remark("session: %s, after %s", plain.Line(s.id), plain.Count(s.turns, "turn"))
		if limits := s.known.limits(); limits != "" {
			s.remark("all turns of the session together: %s", limits)
		}
	}
}

// remark writes a faint line where progress is shown.
func (s *session) remark(format string, args ...any) {
	if s.display() {
		s.console.say("%s", s.console.paint(faint, fmt.Sprintf(format, args...)))
	}
}

// printUnended says that the session's last turn has not ended.
func (s *session) printUnended() {
	switch left := s.unfinished; {
	case left != nil:
		s.console.say("massgen: turn %d of session %s was interrupted: %s; %s finishes it, and another question leaves it without an answer",
			left.Number, plain.Line(s.id), quoted(left.Question), s.continuing())
	case s.busy:
		s.console.say("massgen: a turn is running on session %s in another process: until it is over no other can begin", plain.Line(s.id))
	}
}

// quoted is the beginning of a question, for a line of its own.
func quoted(question string) string { return fmt.Sprintf("%q", shortened(plain.Line(question), 60)) }

// errQuit says that a person wants to leave at once.
var errQuit = errors.New("interrupted")

// ask runs one turn and shows its progress. The first interrupt ends the turn
// with the best answer so far, the second is errQuit.
func (s *session) ask(ctx context.Context, question string, signals <-chan os.Signal) (report.Result, error) {
	if s.engine != nil {
		s.engine.interrupts = signals
	}
	t, err := s.begin(ctx, question)
	if errors.Is(err, errQuit) {
		return report.Result{}, err
	}
	if err != nil {
		return report.Result{}, s.refused(ctx, fmt.Errorf("question: %w", err))
	}
	return s.watchTurn(ctx, t, signals)
}

// advance takes the number of the turn that has begun. It reports whether another process has deleted the
// session: then the numbers begin anew, and the panel is no longer stored.
func (c *conversation) advance(number int) (wasDeleted bool) {
	wasDeleted = number <= c.last
	c.last = number
	if wasDeleted {
		c.turns, c.remembers, c.rebudgeted = 0, false, nil
	}
	return wasDeleted
}

// begin begins a turn. The transaction of its first event also stores the panel, if the session has to
// store one. If workers play the turn, or the session was deleted, memory.keep stores the panel after the
// first event.
func (s *session) begin(ctx context.Context, question string) (*coordinator.Turn, error) {
	ctx = attached(schema.With(ctx, s.options.panel.schema), s)
	before := s.conversation
	var forgets error
	if s.engine == nil {
		forgets = s.memory.remember(&s.conversation, s.known, func(metadata map[string]string) error {
			ctx = turnmeta.With(ctx, s.id, metadata)
			return nil
		})
	}
	t, err := s.panel.Ask(ctx, s.id, question)
	switch {
	case err != nil:
		s.conversation = before
	case forgets != nil:
		s.console.warn(forgets.Error())
	}
	if err == nil && s.advance(t.Number()) {
		s.console.warn(fmt.Sprintf("session %s was deleted by another process: this question begins it anew, without its history", s.id))
	}
	return t, err
}

// refused adds to why no turn began what can be done about a session that is busy.
func (s *session) refused(ctx context.Context, err error) error {
	if !errors.Is(err, sessions.ErrBusy) {
		return err
	}
	if _, noTurn := lastEnded(ctx, s.store, s.id); noTurn != nil {
		return err // there is nothing to make a copy of
	}
	return fmt.Errorf("%w; %s makes a copy to go on with", err, s.storage().command("sessions", "branch", s.id))
}

// watchTurn shows a turn's progress until it is over. See ask for the interrupts.
func (s *session) watchTurn(ctx context.Context, t *coordinator.Turn, signals <-chan os.Signal) (report.Result, error) {
	s.memory.keep(ctx, &s.conversation, s.known)
	shown, cut := make(chan struct{}), make(chan struct{}, 1)
	s.term.live = openLive(s)
	defer s.term.live.end()
	go func() {
		defer close(shown)
		s.follow(ctx, t, cut)
	}()
	interrupted := false
	person := prompter{term: &s.term, ctx: ctx, turn: t}
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
			s.term.cut = time.Time{}
			if interrupted {
				s.term.cut = time.Now()
			}
			hideReasons(r, s.console.secrets.Redact)
			s.turn = t
			s.unfinished, s.busy = nil, false
			r.Warnings = append(s.noticesAfter(s.notices), r.Warnings...)
			return r, err
		case signal := <-signals:
			switch {
			case interrupted && signal == syscall.SIGHUP:
				continue // it comes from the terminal and from the shell, and neither waits
			case interrupted:
				return report.Result{}, errQuit
			}
			s.term.terminated = endsProgram(signal)
			interrupted = true
			cut <- struct{}{}
			t.Cancel()
		}
	}
}

// hideReasons masks the secrets in the reasons of votes here: they were cut to a
// length, where a line of JSON would hide their end.
func hideReasons(r report.Result, redact func(string) string) {
	for _, votes := range [][]report.ResultVote{r.Votes, r.VoidVotes} {
		for i := range votes {
			votes[i].Reason = redact(votes[i].Reason)
		}
	}
}

// once answers one question.
func (s *session) once(ctx context.Context, question string) error {
	if left := s.unfinished; left != nil && s.options.session.goOn {
		return fmt.Errorf("--continue: turn %d of session %s was interrupted (%s): without a question --continue finishes it; %s with a question leaves it without an answer",
			left.Number, plain.Line(s.id), quoted(left.Question), strings.Join(s.storage().sessionFlags(s.id), " "))
	}
	s.term.given = true
	return s.finish(s.ask(ctx, question, s.term.watch.take()))
}

// finish delivers what a turn came to, and returns what the program ends with.
func (s *session) finish(result report.Result, err error) error {
	s.term.watch.give(s.term.deafUntil())
	switch {
	case errors.Is(err, errQuit):
		return exitError{code: ExitInterrupted}
	case errors.As(err, &attach.RefusedError{}):
		return exitError{ExitUsage, err}
	case err != nil:
		return exitError{ExitFailed, err}
	}
	code, err := s.deliver(result)
	s.settle(context.Background(), s.term.watch.take())
	if err == nil {
		s.term.watch.finish(code)
	} else {
		s.term.watch.give(time.Time{}) // the error is not told yet
	}
	return withStatus(code, err)
}

// close ends what the session has opened.
func (s *session) close() error {
	s.term.closeKeyboard()
	var err error
	if s.engine != nil {
		err = s.engine.connection.Close()
	}
	err = errors.Join(err, s.asked.close(), s.store.Close())
	if s.exporter != nil {
		s.exporter.Close()
	}
	return err
}
