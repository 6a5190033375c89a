// Package massgen puts a question to several language models. Each sees the current answers,
// and either gives a better one or votes for the best, until they agree. The winning answer
// joins the session, and the next question continues from there.
//
// [Load] makes a [Panel] from a YAML config, with everything that the program massgen adds;
// [New] makes one from agents in Go. [Panel.Run] asks a question and returns the [Result].
// [Panel.Ask] begins a [Turn] that runs beside its caller: Turn.Events yields its events,
// Turn.Text yields the text of its answer as it comes, Turn.Wait returns its Result, Turn.Note adds to the question, Turn.Pause and Turn.Resume stop
// it for a while, Turn.Dismiss goes on without an agent, and Turn.Cancel ends it with the best
// answer so far.
package massgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/setup/toolbox"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/tools/schema"
)

// The types of a panel's turns.
type (
	// Turn is one question and its answer. Its methods Events, Text, Wait, Note, Pause, Resume, Dismiss and
	// Cancel may be called by several goroutines.
	Turn = coordinator.Turn
	// Event is an event of a turn: one of the types of coordinator/report.
	Event = report.Event
	// Result is how a turn ended, in the form of massgen --json. Its Status is completed,
	// no_consensus, timeout, budget, max_turns, interrupted or failed, and its Answer is the
	// winner's.
	Result = report.Result
	// Model is a model that an agent asks.
	Model = providers.Model
)

// File is what AskWith attaches to a question.
type File struct {
	Name string
	Data []byte
}

// Panel is a set of agents that answer questions together. It is safe for concurrent use;
// turns of different sessions run side by side.
type Panel struct {
	opened *panels.Opened
	// notRecorded is called with the Recorder's error; nil if Close returns that.
	notRecorded func(error)
	// own is the store that the panel has opened itself, nil if the caller gave one.
	own *store.Store

	// asking is held for reading while a turn begins, and for good by Close.
	asking sync.RWMutex
	closed bool

	mu       sync.Mutex
	warnings []string
	turns    []*Turn // that may be running
}

// ErrClosed is returned by a closed panel.
var ErrClosed = errors.New("the panel is closed")

// Load makes a panel from a config: a path, or @examples/NAME. It keeps sessions where the
// program massgen keeps them, unless an option names another place. A program whose config has
// commands or MCP servers calls Launcher first; others need not.
func Load(ctx context.Context, file string, opts ...Option) (*Panel, error) {
	return open(ctx, opts, func(s *panels.Settings) error {
		if s.Config != nil {
			return nil
		}
		config, err := s.World.LoadConfig(file, s.Secrets)
		if err != nil {
			return err
		}
		s.Config = config
		if s.Store != nil || s.Place != (store.Place{}) {
			return nil
		}
		s.Place, err = store.Default(s.World.Environment)
		if err == nil {
			err = s.Place.Check(ctx)
		}
		if err != nil {
			return fmt.Errorf("%w: WithStateDir names a folder", err)
		}
		return nil
	})
}

// New makes a panel of agents. It keeps sessions in memory, unless an option names another
// place.
func New(ctx context.Context, list []Agent, opts ...Option) (*Panel, error) {
	return open(ctx, opts, func(s *panels.Settings) error {
		s.Config = configs.Default()
		for i, a := range list {
			if err := configs.CheckID(a.ID); err != nil {
				return fmt.Errorf("agent %d: its ID %w", i+1, err)
			}
			if err := checkBackend("agent "+a.ID, a.backend(), a.Backend); err != nil {
				return err
			}
			hide(s.Secrets, a)
			if warning := s.Secrets.WarnShort("the APIKey of agent "+a.ID, a.APIKey); warning != "" {
				s.Warn(warning)
			}
			s.Backends = append(s.Backends, a.Backend)
			s.Config.Agents = append(s.Config.Agents, configs.Agent{
				ID: a.ID, SystemMessage: a.SystemMessage, Context: s.Config.Context,
				Backend: a.backend(),
			})
		}
		give(s, func(agent int) []agents.Tool { return list[agent].Tools })
		return nil
	})
}

// open makes a panel from the options and configure.
func open(ctx context.Context, opts []Option, configure func(*panels.Settings) error) (*Panel, error) {
	p := &Panel{}
	s := panels.Settings{Settings: providers.Settings{Secrets: &configs.Secrets{}, Log: slog.New(slog.DiscardHandler)}}
	s.Warn = func(text string) {
		s.Log.Warn(text)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.warnings = append(p.warnings, text)
	}
	var err error
	s.World = providers.NewWorld(os.LookupEnv)
	for _, option := range opts {
		if option != nil {
			option(&s)
		}
	}
	if s.World.Unread != "" {
		s.Warn(s.World.Unread)
	}
	s.World.HideKeys(s.Secrets)
	if err := configure(&s); err != nil {
		return nil, err
	}
	if err := check(s); err != nil {
		return nil, err
	}
	if s.Store == nil {
		if p.own, err = store.Open(ctx, s.Place, s.Secrets.Redact); err != nil {
			return nil, err
		}
		s.Store = p.own
	}
	if p.opened, err = panels.Open(ctx, s); err != nil {
		return nil, errors.Join(err, p.closeStore())
	}
	p.notRecorded = s.NotRecorded
	if p.opened.IsDemo() {
		p.mu.Lock()
		p.warnings = append(p.warnings, panels.DemoNotice)
		p.mu.Unlock()
	}
	return p, nil
}

// check returns an error for invalid options.
func check(s panels.Settings) error {
	if runs := toolbox.Runs(s.Config); runs != "" && s.Engine == nil && !s.OnlyLooks && !launched.Load() {
		return fmt.Errorf("%s: massgen starts it by running this program again: call massgen.Launcher first in main, and in TestMain", runs)
	}
	if s.Record != nil && s.Record.Dir != "" {
		if err := os.MkdirAll(s.Record.Dir, 0o700); err != nil {
			return fmt.Errorf("WithRecorder: %w", err)
		}
	}
	for option, c := range map[string]*panels.Sidecall{"WithTopic": s.Topic, "WithFacts": s.Facts} {
		if c == nil {
			continue
		}
		if err := checkBackend("the agent of "+option, c.Backend, c.Own); err != nil {
			return err
		}
	}
	if s.Given == nil {
		return nil
	}
	for i, a := range s.Config.Agents {
		names := map[string]bool{}
		for _, t := range s.Given(i) {
			if t == nil {
				return fmt.Errorf("agent %s: one of its tools is nil", a.ID)
			}
			name := t.Definition().Name
			if names[name] {
				return fmt.Errorf("agent %s: two of its tools are named %s: rename one", a.ID, name)
			}
			names[name] = true
		}
	}
	return nil
}

// give adds tools to those that agents have.
func give(s *panels.Settings, tools func(agent int) []agents.Tool) {
	before := s.Given
	s.Given = func(agent int) []agents.Tool {
		if before == nil {
			return slices.Clone(tools(agent))
		}
		return append(before(agent), tools(agent)...)
	}
}

// Ask begins a turn of a session, and returns when the turn is accepted. A new session id
// begins a session; "" means one fixed session of the panel. Cancelling ctx ends the turn as
// Turn.Cancel does.
func (p *Panel) Ask(ctx context.Context, session, question string) (*Turn, error) {
	return p.begin(func() (*Turn, error) { return p.opened.Start(ctx, session, question) })
}

// AskWith is Ask with files: pictures (png, jpeg, webp, gif), PDFs and texts in UTF-8, at most 20
// with 20 MiB together. Each agent is sent them with the question, in every step of the turn. What
// a file is follows from its bytes; its Name is for models and people.
func (p *Panel) AskWith(ctx context.Context, session, question string, files ...File) (*Turn, error) {
	ctx, err := withFiles(ctx, files)
	if err != nil {
		return nil, err
	}
	return p.Ask(ctx, session, question)
}

// Run asks a question with files, as AskWith does, and returns the turn's result. Cancelling ctx ends the
// turn with the best answer so far: then the status is interrupted, and there is no error. If ctx ends
// before the turn is accepted, Run returns its error.
func (p *Panel) Run(ctx context.Context, session, question string, files ...File) (Result, error) {
	turn, err := p.AskWith(ctx, session, question, files...)
	if err != nil {
		return Result{}, err
	}
	return turn.Wait(context.WithoutCancel(ctx))
}

// withFiles returns a context with the files of a question.
func withFiles(ctx context.Context, files []File) (context.Context, error) {
	attached := make([]backends.File, len(files))
	for i, f := range files {
		var err error
		if attached[i], err = attach.New(f.Name, f.Data); err != nil {
			return nil, err
		}
	}
	return attach.With(ctx, attached), nil
}

// WithSchema returns a context for Panel.Ask and Panel.Run: the turn's answers are JSON objects that fit a JSON
// Schema. An answer that does not fit is refused, and agents vote only on others. The schema describes
// an object, has at most 64 KiB, and refers only to its own $defs; the error says what to change.
func WithSchema(ctx context.Context, text []byte) (context.Context, error) {
	s, err := schema.Parse(text)
	return schema.With(ctx, s), err
}

// Continue resumes the turn that a lost process left in a session.
func (p *Panel) Continue(ctx context.Context, session string) (*Turn, error) {
	return p.begin(func() (*Turn, error) { return p.opened.Resume(ctx, session) })
}

// begin begins a turn, unless the panel is closed.
func (p *Panel) begin(do func() (*Turn, error)) (*Turn, error) {
	p.asking.RLock()
	defer p.asking.RUnlock()
	if p.closed {
		return nil, ErrClosed
	}
	t, err := do()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns = append(slices.DeleteFunc(p.turns, func(t *Turn) bool { return t.Status() != coordinator.Running }), t)
	return t, nil
}

// Warnings returns warnings about the panel, such as keys of the config that have no effect.
func (p *Panel) Warnings() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.warnings)
}

// Recorder returns the recorder of the panel's model calls, nil without WithRecorder.
func (p *Panel) Recorder() *Recorder { return p.opened.Record }

// Close ends the running turns as Turn.Cancel does, waits for them, closes the agents' tools
// and connections, and closes the sessions, unless WithStore gave them. Its error includes that
// of the Recorder. Closing a panel again does nothing. Close waits for turns that are beginning, so a
// handler of WithLogger and a tool's Definition must not call it.
func (p *Panel) Close() error {
	p.asking.Lock()
	defer p.asking.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	for _, t := range p.turns {
		t.Cancel()
	}
	p.opened.Panel.Wait()
	return errors.Join(p.recorded(), p.opened.Close(), p.closeStore())
}

// recorded returns the Recorder's error, if no listener takes it.
func (p *Panel) recorded() error {
	r := p.Recorder()
	switch {
	case r == nil:
		return nil
	case r.Err() == nil || p.notRecorded == nil:
		return r.Err()
	}
	p.notRecorded(r.Err())
	return nil
}

func (p *Panel) closeStore() error {
	if p.own == nil {
		return nil
	}
	return p.own.Close()
}
