// Package panels makes panels of configurations: it connects the agents to their models, opens their
// tools, and connects the side calls, which belong to no agent.
package panels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/sidecalls"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/setup/toolbox"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/permission"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// Settings are the settings of a panel.
type Settings struct {
	providers.Settings
	// Store keeps the sessions. Load and New of package massgen open the store in Place if Store is
	// nil.
	Store *store.Store
	Place store.Place
	// Record has the options of the recorder of model calls; nil records none. Open sets Redact and
	// Participants.
	Record *debugbackend.Options
	// Backends are the agents' own models, in the config's order. An agent without an entry, or with
	// nil, has the model of the config.
	Backends []backends.Backend
	// Given returns an agent's tools in Go, beside the tools of the config; nil for none.
	Given func(agent int) []agents.Tool
	// Rules change the config's rules, in their order.
	Rules []func(*kernel.Config)
	// Preset and Strategy lie over the config's orchestrator; "" changes nothing.
	Preset, Strategy string
	// Override replaces limits of the budget of a resumed turn.
	Override budget.Budget
	// Engine plays the turns in other processes; nil plays them here. ForOthers reports that this
	// is such a process, and that the watching processes ask their users about tool calls.
	Engine    coordinator.Remote
	ForOthers bool
	// Approve asks a person about calls of tools; nil where nobody is there.
	Approve func(ctx context.Context, call coordinator.ApprovalRequest) (coordinator.Decision, error)
	// Granted are the calls of tools that the person is not asked about; nil for none.
	Granted *permission.Grants
	// Around returns the backend that an agent or a judge is to have in place of its model's. Nil changes
	// nothing.
	Around func(agent string, m providers.Model) backends.Backend
	// Telemetry follows the turns; nil for none.
	Telemetry *telemetry.Exporter
	// BeforeTurn and AfterTurn are called in their order, as coordinator.Options says.
	BeforeTurn []func(ctx context.Context, t *coordinator.Turn) error
	AfterTurn  []func(ctx context.Context, t *coordinator.Turn, r report.Result) error
	// Topic and Facts are sidecalls that turns make, also if the config does not ask for them; nil leaves that to the
	// config.
	Topic, Facts *Sidecall
	// Hidden are files and folders that no agent reads, beside those of store.LogFolder and
	// store.WorkspacesFolder, where each has its own.
	Hidden []string
	// OnlyLooks opens no tools, for a panel that is only checked or shown.
	OnlyLooks bool
	Listener
}

// Listener has functions that are called beside the turns' events. Each may be nil except Warn.
type Listener struct {
	// Warn gets warnings for the user.
	Warn func(text string)
	// Waiting gets the MCP servers that take long to start.
	Waiting func(servers []string)
	// TopicChanged and Remembered get the results of the calls for topic and facts.
	TopicChanged func(state topic.State)
	Remembered   func(facts []string)
	// NotRecorded is called when the panel closes, with the error of a recorder that could not
	// write a call; if it is nil, closing returns the error.
	NotRecorded func(error)
}

// Opened is the panel of a configuration and all that was opened for it.
type Opened struct {
	// Panel plays the turns. Start, Accept and Resume begin turns that telemetry follows.
	Panel *coordinator.Panel
	// Models are the models of the agents, in the config's order.
	Models []providers.Model
	// Sidecalls keep the sessions' topics and the facts about their users.
	Sidecalls *sidecalls.Keeper
	// Record has the model calls; nil if none are recorded.
	Record *debugbackend.Recorder
	// CanSearch reports that an agent can search the web in turns that ask for it (WithWebSearch).
	CanSearch bool

	noticing sync.Mutex
	notices  []string // see Notices

	ids      []string // of the agents, in the config's order
	resolver *providers.Resolver
	tools    *toolbox.Toolbox // nil if none are opened
	exporter *telemetry.Exporter
}

// Start begins a turn, as coordinator.Panel.Start does.
func (p *Opened) Start(ctx context.Context, session, question string) (*coordinator.Turn, error) {
	return p.followed(p.Panel.Start(ctx, session, question))
}

// Resume goes on with a turn, as coordinator.Panel.Resume does.
func (p *Opened) Resume(ctx context.Context, session string) (*coordinator.Turn, error) {
	return p.followed(p.Panel.Resume(ctx, session))
}

// followed makes telemetry follow a turn to its end.
func (p *Opened) followed(t *coordinator.Turn, err error) (*coordinator.Turn, error) {
	if err == nil && p.exporter != nil {
		p.exporter.Follow(telemetry.Of{Session: t.Session(), Turn: t.Number(), Question: t.Question()}, t.Events(context.Background()))
	}
	return t, err
}

// Open connects a panel without calling a model. Its error has a line for each reason why agents
// cannot be connected. The caller closes the store.
func Open(ctx context.Context, s Settings) (*Opened, error) {
	decided, err := s.Config.WithPreset(s.Preset, s.Strategy)
	if err != nil {
		return nil, err
	}
	s.Config = decided
	s.addSidecalls()
	p := &Opened{exporter: s.Telemetry}
	if s.Record != nil {
		options := *s.Record
		options.Redact, options.Participants = s.Secrets.Redact, participants(s.Config)
		p.Record = debugbackend.NewRecorder(options)
	}
	if p.resolver, err = providers.New(s.Settings, p.Record, s.Store.Limiter); err != nil {
		return nil, err
	}
	if err := p.open(ctx, s); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Opened) open(ctx context.Context, s Settings) error {
	opts := coordinator.Options{
		Rules: s.Config.Orchestrator.Rules, Limits: s.Config.Orchestrator.Limits, Budget: s.Config.Budget, Override: s.Override,
		Store: s.Store.Sessions, Remote: s.Engine, Approve: s.Approve, DescribeFiles: s.Config.DescribesFiles(), Masking: s.Secrets.Stream,
		AnswerPattern: s.Config.Orchestrator.AnswerPattern, Shuffle: s.Config.Orchestrator.IsShuffled(), RunCheck: workspace.RunCheck,
	}
	if seed := s.Config.Orchestrator.Seed; seed != nil {
		opts.Seed = new(uint64(*seed))
	}
	if c := s.Config.Orchestrator.Check; c.IsSet() {
		opts.Check = &effect.Check{Command: c.Command, Pattern: c.Pattern, Tries: c.Tries, Shown: c.Mode == kernel.CheckShown}
	}
	if s.Engine != nil || s.ForOthers { // only these compare digests
		var err error
		if opts.Config, err = s.Config.Digest(); err != nil {
			return err
		}
	}
	for _, change := range s.Rules {
		change(&opts.Rules)
	}
	if !s.OnlyLooks {
		if err := checkPrograms(s.Config); err != nil {
			return err
		}
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
	p.Sidecalls = sidecalls.New(s.Settings, sidecalls.Options{
		Store: s.Store.Sessions, Warn: s.Warn, TopicChanged: s.TopicChanged, Remembered: s.Remembered,
		Elsewhere: s.Engine != nil, ForOthers: s.ForOthers,
	})
	p.Sidecalls.AddTo(&opts, models)
	s.addHooks(&opts)
	if err := toolbox.CanCheck(s.Config); err != nil {
		return err
	}
	if err := toolbox.Permit(&opts, s.Config, s.Granted, s.ForOthers || s.Approve != nil); err != nil {
		return err
	}
	if s.Engine == nil && !s.OnlyLooks {
		if err := p.openTools(ctx, s, &opts); err != nil {
			return err
		}
	}
	if p.IsDemo() {
		p.addNotice(DemoNotice)
	}
	p.Panel, err = coordinator.New(opts)
	return err
}

// connect connects the agents and the side calls to their models.
func (p *Opened) connect(ctx context.Context, s Settings, opts *coordinator.Options) (providers.Sidecalls, error) {
	var failed []report.FailedAgent
	var search []*searching
	config := s.Config
	for i, a := range config.Agents {
		p.ids = append(p.ids, a.ID)
		m, params, faults := p.fitted(ctx, s, i)
		for _, err := range faults {
			failed = append(failed, report.FailedAgent{
				Agent: a.ID, Error: providers.Placed(func(key string) string { return config.BackendPlace(i, key) }, err),
			})
		}
		if len(faults) > 0 {
			continue
		}
		p.Models = append(p.Models, m)
		search = append(search, p.searching(s, i, m, params))
		p.CanSearch = p.CanSearch || search[len(search)-1] != nil
		a.Backend.Params = params
		member := p.agent(s, a.ID, m, a.SystemMessage, a.Backend, a.Context)
		member.Guidance = guidance(config, i)
		opts.Agents = append(opts.Agents, member)
	}
	addSearching(opts, search)
	failed = append(failed, p.connectConsultants(ctx, s, opts)...)
	models, faults := p.resolver.Sidecalls(ctx, config, map[string]backends.Backend{"topic": s.Topic.Own, "memory": s.Facts.Own})
	for _, f := range faults {
		failed = append(failed, report.FailedAgent{Agent: f.Of, Error: f.Text})
	}
	if len(failed) > 0 {
		return models, errors.New(strings.Join(Reasons(failed), "\n"))
	}
	return models, nil
}

// agent returns an agent with its model.
func (p *Opened) agent(s Settings, id string, m providers.Model, system string, b configs.Backend, policy policy.Settings) coordinator.Agent {
	a := coordinator.Agent{
		ID: id, SystemMessage: system, Backend: m.Backend, Provider: m.Provider, Model: m.Name, Params: p.resolver.Bounded(m, b.Params),
		ToolMode: toolMode(m, b), Bounded: m.Local, TextCalls: m.TextCalls, Context: agents.Context{Policy: policy, Window: m.Window, Counter: p.resolver.Counter(m)},
		Takes: m.Takes,
	}
	if s.Around != nil {
		a.Backend = s.Around(id, m)
	}
	return a
}

// connectConsultants connects a judge and a giver of verdicts that are no agents of the panel.
func (p *Opened) connectConsultants(ctx context.Context, s Settings, opts *coordinator.Options) (failed []report.FailedAgent) {
	connect := func(id, system string, b configs.Backend) *coordinator.Agent {
		m, faults := p.resolver.Resolve(ctx, b)
		for _, err := range faults {
			failed = append(failed, report.FailedAgent{Agent: id, Error: providers.Placed(func(key string) string { return s.Config.CallPlace("orchestrator."+id, key) }, err)})
		}
		if len(faults) > 0 {
			return nil
		}
		a := p.agent(s, id, m, system, b, s.Config.Context)
		return &a
	}
	o := s.Config.Orchestrator
	if o.Rules.Judge == kernel.JudgeID {
		opts.Judge = connect(kernel.JudgeID, o.Judge.SystemMessage, o.Judge.Backend)
	}
	if o.Rules.VerdictByOther {
		opts.Verdict = connect(kernel.VerdictID, "", o.Verdict)
	}
	return failed
}

// model connects an agent to its model.
func (p *Opened) model(ctx context.Context, s Settings, agent int, b configs.Backend) (providers.Model, []error) {
	if agent < len(s.Backends) && s.Backends[agent] != nil {
		return p.resolver.Own(b.Model, s.Backends[agent]), nil
	}
	if s.OnlyLooks && b.Program() != "" {
		return p.resolver.Absent(b), nil
	}
	return p.resolver.Resolve(ctx, b)
}

// Notices returns the warnings that belong to every result. It may be called concurrently.
func (p *Opened) Notices() []string {
	p.noticing.Lock()
	defer p.noticing.Unlock()
	return slices.Clone(p.notices)
}

func (p *Opened) addNotice(text string) {
	p.noticing.Lock()
	defer p.noticing.Unlock()
	p.notices = append(p.notices, text)
}

// notice warns now, and with every result.
func (p *Opened) notice(s Settings, text string) {
	p.addNotice(text)
	s.Warn(text)
}

// openTools opens the agents' tools.
func (p *Opened) openTools(ctx context.Context, s Settings, opts *coordinator.Options) (err error) {
	if notice := toolbox.Unfenced(s.Config); notice != "" {
		p.notice(s, notice)
	}
	options := toolbox.Options{
		Given: s.Given, Without: s.Store.Files(), Own: store.OfUser(s.World.Environment), Hidden: append(slices.Clip(s.Hidden), store.LogFolder, store.WorkspacesFolder), Waiting: s.Waiting,
		Warn: func(text string) { p.notice(s, text) }, Unfit: p.unfit,
		Most: func(agent int) (int, error, bool) {
			return p.Models[agent].Schemas.Most(len(s.Config.Agents) > 1, s.Config.Agents[agent].Backend.Params.Hosted)
		},
	}
	if s.Store.Lasts() {
		options.Snapshots = s.Store.Snapshots
		if err := s.Store.KeepSnapshotsIn(s.Config.Orchestrator.SnapshotStorage); err != nil {
			return err
		}
	}
	if p.tools, err = toolbox.Open(ctx, s.Config, s.Log, options); err != nil {
		return err
	}
	p.tools.AddTo(opts)
	addTurnTools(opts, options)
	return nil
}

// unfit returns the reason why the model of an agent cannot be sent a tool.
func (p *Opened) unfit(agent int, tool backends.Tool) error {
	_, err := p.Models[agent].Schemas.Fit(tool)
	return err
}

// DemoNotice is the reason why answers are canned.
const DemoNotice = "no provider's key is set and no model server answers on this machine, so these answers are canned (demo); for real ones set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or start Ollama"

// IsDemo reports whether the answers are canned because nothing else is here. Then DemoNotice is one
// of the notices.
func (p *Opened) IsDemo() bool { return p.resolver.IsDemo() }

// Tools returns the tools of each agent, in the config's order; nil if none were opened.
func (p *Opened) Tools() [][]toolbox.Listed {
	if p.tools == nil {
		return nil
	}
	return p.tools.Listed()
}

// Close ends the agents' tools and connections.
func (p *Opened) Close() error {
	if p.tools != nil {
		p.tools.Close()
	}
	return p.resolver.Close()
}

// Names has each agent with its model, or the agents and the model that all of them have.
func (p *Opened) Names() string {
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

// mostNamed is how many agents with one reason are named; more are counted.
const mostNamed = 6

// Reasons returns the reasons why agents failed, each reason once.
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
		names := plain.List(who[reason])
		if len(who[reason]) > mostNamed {
			names = plain.Count(len(who[reason]), "agent")
		}
		order[i] = plain.Line(names + ": " + reason)
	}
	return order
}
