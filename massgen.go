// Package massgen puts several language models on one question. Each sees the current
// answers of all, and either gives a better one or votes for the best, until they agree;
// the winning answer joins the session, and the next question goes on from there.
//
// [Load] makes a [Panel] of a YAML config, with all that the program massgen does with it;
// [New] makes one of agents in Go. [Panel.Ask] begins a [Turn]: Turn.Events yields what
// happens in it, Turn.Wait returns its [Result], Turn.Note adds to the question,
// Turn.Pause and Turn.Resume stop it for a while, and Turn.Cancel ends it with the best
// answer so far.
package massgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/panels"
	"github.com/massgen/massgen/internal/providers"
	"github.com/massgen/massgen/internal/store"
)

// What a panel's turns are made of.
type (
	// Turn is one question and its answer.
	Turn = coordinator.Turn
	// Event is something that happens in a turn.
	Event = coordinator.Event
	// Result is how a turn ended, in the form of massgen --json.
	Result = coordinator.Result
)

// Agent is one member of a panel. An ID and a Model are enough, where the model's name says
// whose it is and the environment, or the file .env, has the provider's key.
type Agent struct {
	// ID names the agent in results.
	ID string
	// Provider is the type of the model's service, as massgen --list-backends shows them;
	// "" goes by BaseURL or by the model's name, and "demo" has canned answers.
	Provider string
	// Model is "" for the provider's default.
	Model string
	// BaseURL is the service's address, such as that of a local server; "" is the
	// provider's own.
	BaseURL string
	// APIKey is "" for the key in the provider's variable.
	APIKey        string
	SystemMessage string
	// Tools are what the agent can do beside answering and voting; agents.NewTool makes one
	// of a function.
	Tools []agents.Tool
	// Params go with each of its model calls.
	Params backends.Params
}

// Panel is a set of agents that answer questions together. It is safe for concurrent use;
// turns of different sessions run side by side.
type Panel struct {
	opened *panels.Panel
	store  *store.Store
	notes  []string
}

// Load makes a panel of a config: a path, or @examples/NAME. Sessions are kept where the
// program massgen keeps them, unless an option names another place. A program whose config
// has commands or MCP servers calls Launcher first.
func Load(ctx context.Context, file string, opts ...Option) (*Panel, error) {
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	if s.config, err = s.world.LoadConfig(file, s.secrets); err != nil {
		return nil, err
	}
	for _, w := range s.config.Warnings {
		s.warn(w.String())
	}
	return s.open(ctx, s.openLasting)
}

// New makes a panel of agents. Sessions are kept in memory, unless an option names another
// place.
func New(ctx context.Context, list []Agent, opts ...Option) (*Panel, error) {
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	s.config = configs.Default()
	for i, a := range list {
		if a.ID == "" {
			return nil, fmt.Errorf("agent %d has no ID", i+1)
		}
		s.secrets.Add(a.APIKey)
		s.config.Agents = append(s.config.Agents, configs.Agent{
			ID: a.ID, SystemMessage: a.SystemMessage, Context: s.config.Context,
			Backend: configs.Backend{Type: a.Provider, Model: a.Model, BaseURL: a.BaseURL, APIKey: a.APIKey, Params: a.Params},
		})
		s.given = append(s.given, a.Tools)
	}
	return s.open(ctx, s.openInMemory)
}

// Ask begins a turn of a session, which begins to exist when it is first named; "" is the
// session default. It returns when the turn is accepted. Cancelling ctx ends the turn as
// Turn.Cancel does.
func (p *Panel) Ask(ctx context.Context, session, question string) (*Turn, error) {
	return p.opened.Start(ctx, session, question)
}

// Continue goes on with the turn of a session that a lost process has left.
func (p *Panel) Continue(ctx context.Context, session string) (*Turn, error) {
	return p.opened.Resume(ctx, session)
}

// Warnings are what a user should know of the panel, such as keys of the config that have
// no effect.
func (p *Panel) Warnings() []string { return p.notes }

// Close ends the agents' tools and connections, and closes the sessions, unless WithStore
// gave them. Turns have ended before.
func (p *Panel) Close() error {
	return errors.Join(p.opened.Close(), p.store.Close())
}

// settings are what options change.
type settings struct {
	world    providers.World
	secrets  *configs.Secrets
	log      *slog.Logger
	config   *configs.Config
	kept     Store // nil for a store of the panel's own
	stateDir string
	given    [][]agents.Tool
	tools    []agents.Tool
	recorder *Recorder
	approve  func(ctx context.Context, call Approval) (bool, error)
	rules    []func(*Rules)
	warnings []string
}

func newSettings(opts []Option) (*settings, error) {
	Launcher() // in a process that should have called it first
	world, err := providers.NewWorld(os.LookupEnv)
	s := &settings{world: world, secrets: &configs.Secrets{}, log: slog.New(slog.DiscardHandler)}
	for _, option := range opts {
		option(s)
	}
	world.HideKeys(s.secrets)
	return s, err
}

func (s *settings) warn(text string) {
	s.warnings = append(s.warnings, text)
	s.log.Warn(text)
}

// open makes the panel, with sessions kept by makeStore unless an option has said where.
func (s *settings) open(ctx context.Context, makeStore func(context.Context) (*store.Store, error)) (*Panel, error) {
	if len(s.tools) > 0 {
		s.given = append(s.given, make([][]agents.Tool, len(s.config.Agents)-len(s.given))...)
		for i := range s.given {
			s.given[i] = append(s.given[i][:len(s.given[i]):len(s.given[i])], s.tools...)
		}
	}
	kept, err := s.openStore(ctx, makeStore)
	if err != nil {
		return nil, err
	}
	opened, err := panels.Open(ctx, panels.Settings{
		World: s.world, Config: s.config, Store: kept, Secrets: s.secrets, Record: s.recorder, Log: s.log, Given: s.given,
		Asks: s.approve != nil, Approve: s.approve, Rules: s.rules, Listener: panels.Listener{Warn: s.warn},
	})
	if err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	return &Panel{opened: opened, store: kept, notes: s.warnings}, nil
}

func (s *settings) openStore(ctx context.Context, makeStore func(context.Context) (*store.Store, error)) (*store.Store, error) {
	switch {
	case s.kept != nil:
		return store.Of(s.kept, s.secrets.Redact), nil
	case s.stateDir != "":
		return store.OpenDir(ctx, s.stateDir, s.secrets.Redact)
	}
	return makeStore(ctx)
}

func (s *settings) openInMemory(context.Context) (*store.Store, error) {
	return store.InMemory("", s.secrets.Redact), nil
}

func (s *settings) openLasting(ctx context.Context) (*store.Store, error) {
	path, err := store.Path(s.world.Environment)
	if err != nil {
		return nil, fmt.Errorf("%w: WithStateDir names a folder", err)
	}
	return store.Open(ctx, path, s.secrets.Redact)
}
