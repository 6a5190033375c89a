// Package panels makes panels of configurations: it connects the agents to their models,
// opens what they work with, and has the calls made that belong to no agent.
package panels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/sidecalls"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/setup/toolbox"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/grants"
)

// Settings are all that a panel is made of.
type Settings struct {
	World  providers.World
	Config *configs.Config
	// Store keeps the sessions. Whoever makes the settings may leave it out and open one in
	// Place.
	Store   *store.Store
	Place   store.Place
	Secrets *configs.Secrets
	// Record says how every model call is recorded; nil records none. Redact and
	// Participants are filled in.
	Record *debugbackend.Options
	Log    *slog.Logger
	// Backends are models that the agents bring along, in the config's order, and nil for those
	// that the config tells of; it is shorter where all that follow are nil.
	Backends []backends.Backend
	// Given returns the tools in Go that an agent has beside those of the config; nil for
	// none.
	Given func(agent int) []agents.Tool
	// Rules change those of the config, in their order.
	Rules []func(*kernel.Config)
	// Override is what a person says of the budget of a turn that is gone on with.
	Override budget.Budget
	// Engine plays the turns in other processes; nil plays them here. ForOthers says that
	// this is such a process, whose turns others watch: they are asked about calls of tools.
	Engine    coordinator.Remote
	ForOthers bool
	// Approve asks a person about calls of tools; nil where nobody is there.
	Approve func(ctx context.Context, call coordinator.Approval) (coordinator.Decision, error)
	// Granted are the calls of tools that the person is not asked about; nil for none.
	Granted *grants.Grants
	// Telemetry follows the turns; nil for none.
	Telemetry *telemetry.Exporter
	// OnlyLooks opens no tools: nobody is asked, a panel is checked or looked at.
	OnlyLooks bool
	Listener
}

// Listener is told what is going on beside the turns' events. All may be nil but Warn.
type Listener struct {
	// Warn is told what the user has to know.
	Warn func(text string)
	// Waiting is told which MCP servers take long to start.
	Waiting func(servers []string)
	// TopicChanged and Remembered are told what the calls for topic and facts have come to.
	TopicChanged func(state topic.State)
	Remembered   func(facts []string)
	// NotRecorded is called when the panel closes, with the error of a recorder that could not
	// write a call; if it is nil, closing returns the error.
	NotRecorded func(error)
}

// Panel is a panel of a configuration.
type Panel struct {
	*coordinator.Panel
	// Models are those of the agents, in the config's order.
	Models []providers.Model
	// Sidecalls keep the sessions' topics and what is remembered of their users.
	Sidecalls *sidecalls.Keeper
	// Record has the model calls; nil if none are recorded.
	Record *debugbackend.Recorder
	// Notices are what every result is to be read with.
	Notices []string
	// CanSearch says that an agent can search the web in turns that ask for it (WithWebSearch).
	CanSearch bool

	ids      []string // of the agents, in the config's order
	resolver *providers.Resolver
	tools    *toolbox.Toolbox // nil if none are opened
	exporter *telemetry.Exporter
}

// Start begins a turn, as coordinator.Panel.Start does.
func (p *Panel) Start(ctx context.Context, session, question string) (*coordinator.Turn, error) {
	return p.followed(p.Panel.Start(ctx, session, question))
}

// Accept begins a turn for a caller that plays it, as coordinator.Panel.Accept does.
func (p *Panel) Accept(ctx context.Context, session, question string) (t *coordinator.Turn, play func(), err error) {
	t, play, err = p.Panel.Accept(ctx, session, question)
	t, err = p.followed(t, err)
	return t, play, err
}

// Resume goes on with a turn, as coordinator.Panel.Resume does.
func (p *Panel) Resume(ctx context.Context, session string) (*coordinator.Turn, error) {
	return p.followed(p.Panel.Resume(ctx, session))
}

// followed has telemetry follow a turn to its end.
func (p *Panel) followed(t *coordinator.Turn, err error) (*coordinator.Turn, error) {
	if err == nil && p.exporter != nil {
		p.exporter.Follow(telemetry.Of{Session: t.Session(), Turn: t.Number(), Question: t.Question()}, t.Events(context.Background()))
	}
	return t, err
}

// Open connects a panel. It calls no model, and has an error with a line for each reason
// why agents cannot be connected. The store stays the caller's.
func Open(ctx context.Context, s Settings) (*Panel, error) {
	p := &Panel{exporter: s.Telemetry}
	if s.Record != nil {
		options := *s.Record
		options.Redact, options.Participants = s.Secrets.Redact, participants(s.Config)
		p.Record = debugbackend.NewRecorder(options)
	}
	var err error
	p.resolver, err = providers.New(providers.Settings{
		World: s.World, Config: s.Config, Record: p.Record, Log: s.Log, Secrets: s.Secrets, Shared: s.Store.Limiter,
	})
	if err != nil {
		return nil, err
	}
	if err := p.open(ctx, s); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Panel) open(ctx context.Context, s Settings) error {
	opts := coordinator.Options{
		Rules: s.Config.Orchestrator.Rules, Limits: limits(s.Config), Budget: s.Config.Budget, Override: s.Override,
		Store: s.Store, Remote: s.Engine, Approve: s.Approve, DescribeFiles: s.Config.DescribesFiles(),
	}
	if s.Engine != nil || s.ForOthers { // only they compare it
		var err error
		if opts.Config, err = s.Config.Digest(); err != nil {
			return err
		}
	}
	for _, change := range s.Rules {
		change(&opts.Rules)
	}
	for _, w := range s.Config.Warnings {
		p.notice(s, w.String())
	}
	for _, notice := range s.World.Notices(s.Secrets) {
		p.notice(s, notice)
	}
	models, err := p.connect(ctx, s, &opts)
	if err != nil {
		return err
	}
	p.addSidecalls(s, models, &opts)
	if err := toolbox.Permit(&opts, s.Config, s.Granted, s.ForOthers || s.Approve != nil); err != nil {
		return err
	}
	if s.Engine == nil && !s.OnlyLooks {
		if err := p.openTools(ctx, s, &opts); err != nil {
			return err
		}
		addTurnTools(&opts)
	}
	if p.IsDemo() {
		p.Notices = append(p.Notices, DemoNotice)
	}
	p.Panel, err = coordinator.New(opts)
	return err
}

// connect connects the agents and the calls that belong to none to their models.
func (p *Panel) connect(ctx context.Context, s Settings, opts *coordinator.Options) (providers.Sidecalls, error) {
	var failed []report.FailedAgent
	var search []*searching
	config := s.Config
	for i, a := range config.Agents {
		p.ids = append(p.ids, a.ID)
		m, faults := p.model(ctx, s, i)
		if len(faults) == 0 && hasTools(s, i) {
			if err := m.CheckOwnTools(a.Backend.Params); err != nil {
				faults = append(faults, err)
			}
		}
		for _, err := range faults {
			failed = append(failed, report.FailedAgent{
				Agent: a.ID, Error: providers.Placed(func(key string) string { return config.BackendPlace(i, key) }, err),
			})
		}
		if len(faults) > 0 {
			continue
		}
		p.Models = append(p.Models, m)
		search = append(search, p.searching(s, i, m))
		p.CanSearch = p.CanSearch || search[len(search)-1] != nil
		opts.Agents = append(opts.Agents, coordinator.Agent{
			ID: a.ID, SystemMessage: a.SystemMessage, Backend: m.Backend, Provider: m.Provider, Model: m.Name, Params: p.resolver.Bounded(m, a.Backend.Params),
			ToolMode: toolMode(m, a.Backend), Bounded: m.Local, Context: agents.Context{Policy: a.Context, Window: m.Window, Counter: p.resolver.Counter(m)},
			Takes: m.Takes,
		})
	}
	addSearching(opts, search)
	models, faults := p.resolver.Sidecalls(ctx, config)
	for _, f := range faults {
		failed = append(failed, report.FailedAgent{Agent: f.Of, Error: f.Text})
	}
	if len(failed) > 0 {
		return models, errors.New(strings.Join(Reasons(failed), "\n"))
	}
	return models, nil
}

// model connects an agent to its model.
func (p *Panel) model(ctx context.Context, s Settings, agent int) (providers.Model, []error) {
	b := s.Config.Agents[agent].Backend
	if agent < len(s.Backends) && s.Backends[agent] != nil {
		return p.resolver.Own(b.Model, s.Backends[agent]), nil
	}
	return p.resolver.Resolve(ctx, b)
}

func (p *Panel) addSidecalls(s Settings, models providers.Sidecalls, opts *coordinator.Options) {
	messages := make([]string, len(s.Config.Agents))
	for i, a := range s.Config.Agents {
		messages[i] = a.SystemMessage
	}
	p.Sidecalls = sidecalls.New(sidecalls.Settings{
		Store: s.Store, SystemMessages: messages, Redact: s.Secrets.Redact, Log: s.Log, Warn: s.Warn,
		TopicChanged: s.TopicChanged, Remembered: s.Remembered, Elsewhere: s.Engine != nil, ForOthers: s.ForOthers,
	})
	p.Sidecalls.AddTo(opts, models)
}

// notice tells something now, and with every result.
func (p *Panel) notice(s Settings, text string) {
	p.Notices = append(p.Notices, text)
	s.Warn(text)
}

// openTools opens what the agents work with.
func (p *Panel) openTools(ctx context.Context, s Settings, opts *coordinator.Options) (err error) {
	if notice := toolbox.Unfenced(s.Config); notice != "" {
		p.notice(s, notice)
	}
	settings := toolbox.Settings{
		Config: s.Config, Given: s.Given, Without: s.Store.Files(), Own: store.OfUser(s.World.Environment), Log: s.Log, Warn: s.Warn, Waiting: s.Waiting,
	}
	if s.Store.Lasts() {
		settings.Snapshots = s.Store.Snapshots
		if err := s.Store.KeepSnapshotsIn(s.Config.Orchestrator.SnapshotStorage); err != nil {
			return err
		}
	}
	if p.tools, err = toolbox.Open(ctx, settings); err != nil {
		return err
	}
	for _, notice := range p.tools.Notices {
		p.notice(s, notice)
	}
	p.tools.AddTo(opts)
	return nil
}

// DemoNotice says why answers are canned.
const DemoNotice = "no provider's key is set and no model server answers on this machine, so these answers are canned (demo); for real ones set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or start Ollama"

// IsDemo says whether the answers are canned because nothing else is here. DemoNotice is one
// of the notices then.
func (p *Panel) IsDemo() bool { return p.resolver.IsDemo() }

// Tools returns the tools of each agent, in the config's order; nil where none were opened.
func (p *Panel) Tools() [][]toolbox.Listed {
	if p.tools == nil {
		return nil
	}
	return p.tools.Listed()
}

// Close ends the agents' tools and connections.
func (p *Panel) Close() error {
	if p.tools != nil {
		p.tools.Close()
	}
	return p.resolver.Close()
}

// Names has each agent with its model, or the agents and the model that all of them have.
func (p *Panel) Names() string {
	same := true
	each := make([]string, len(p.Models))
	for i, m := range p.Models {
		each[i] = fmt.Sprintf("%s (%s)", p.ids[i], m)
		same = same && m.String() == p.Models[0].String()
	}
	if same {
		return plain.List(p.ids) + " · " + p.Models[0].String()
	}
	return plain.List(each)
}

// Reasons names why agents failed, each reason once.
func Reasons(failed []report.FailedAgent) []string {
	var order []string
	who := map[string][]string{}
	for _, f := range failed {
		if who[f.Error] == nil {
			order = append(order, f.Error)
		}
		who[f.Error] = append(who[f.Error], f.Agent)
	}
	for i, reason := range order {
		order[i] = plain.Line(plain.List(who[reason]) + ": " + reason)
	}
	return order
}
