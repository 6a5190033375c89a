package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/secrets"
	"github.com/massgen/massgen/internal/tools/schema"
	"github.com/massgen/massgen/sessions"
)

// MaxQuestion is the size of the longest accepted question, in bytes. Every agent is sent the
// question in every round.
const MaxQuestion = 1 << 20

// Store is the storage of a panel. Stores are safe for concurrent use. sessions.NewMemory makes
// a store that lives as long as the process, and sessions/sqlite opens a store on disk.
// sessions.Store documents the methods.
type Store interface {
	agents.Blobs
	Journal(ctx context.Context, session string, turn, from int) ([][]byte, error)
	Append(ctx context.Context, session string, turn int, events ...[]byte) error
	Begin(ctx context.Context, session, question string) (sessions.Begun, error)
	Commit(ctx context.Context, session string, turn int, ended sessions.Ended) error
	End(ctx context.Context, session string, turn int, ended sessions.Ended) error
	EndWith(ctx context.Context, session string, turn int, ended sessions.Ended, events ...[]byte) error
	Resume(ctx context.Context, session string) (sessions.Begun, error)
	Leave(ctx context.Context, session string, turn int) error
	RecordCut(ctx context.Context, session string, turn int, usage budget.Usage) error
	Session(ctx context.Context, id string) (sessions.Session, error)
	SetMetadata(ctx context.Context, id string, metadata map[string]string) error
	Branch(ctx context.Context, from string, turn int, to string) (sessions.Session, error)
	Delete(ctx context.Context, id string) error
}

// Agent is one member of a panel.
type Agent struct {
	// ID names the agent in results; models know it as agentN.
	ID string
	// SystemMessage comes before the coordination text; it may be empty.
	SystemMessage string
	// Guidance stands after the coordination text of the agent's steps; empty for nothing.
	Guidance string
	Backend  backends.Backend
	// Provider is the type of the model's provider, for results; it may be empty.
	Provider string
	Model    string
	Params   backends.Params
	// Tools are the agent's own tools, in addition to answering and voting. Plan, Permit and
	// KeepResult are as in agents.Member, but a panel of one never uses Plan. If Permit
	// leaves a call to a person, Options.Approve asks that person.
	Tools      []agents.Tool
	Plan       func(tool agents.Tool, arguments string) (result string, planned bool)
	Permit     func(tool, arguments string) (permission effect.Permission, why string)
	KeepResult func(name, result string) (where string, err error)
	// Snapshot copies the current workspace of the agent to a folder of its own. The panel
	// calls Snapshot for each answer of the agent (see agents.CallInfo). After a kill it may
	// call Snapshot again for the same answer. An error becomes a warning, and the answer
	// counts without a snapshot. Snapshot is nil for an agent without a workspace.
	Snapshot func(ctx context.Context, of agents.CallInfo) (agents.Snapshot, error)
	// ToolMode is how the panel offers the coordination tools; empty means ToolsNative.
	ToolMode effect.ToolMode
	// Bounded limits the replies of a small model in JSON mode (see effect.Agent).
	Bounded bool
	// TextCalls reads calls in the model's text (see effect.Agent).
	TextCalls bool
	// Context limits the part of a session's history that the agent is shown; the zero
	// value shows all of the history.
	Context agents.Context
	// Takes is what the model takes beside text. A picture that is too large for it is made
	// smaller.
	Takes attach.Takes
}

// Options are the agents, the rules and the services of a panel.
type Options struct {
	// Agents are the members of the panel. Their order breaks ties.
	Agents []Agent
	// Judge and Verdict are consulted and are no members of the panel (rule 17); nil for none. Rules
	// must name them. Their ids are kernel.JudgeID and kernel.VerdictID.
	Judge, Verdict *Agent
	// AnswerPattern is a regular expression: answers are equal if its last matches in them are.
	// Empty means that equal texts are equal answers.
	AnswerPattern string
	// Shuffle shows answers in a drawn order; Seed is the seed of that, and of drawn peers. If Seed is nil,
	// each turn draws one.
	Shuffle bool
	Seed    *uint64
	// Check is made of each answer; nil for none. RunCheck runs its command.
	Check    *effect.Check
	RunCheck agents.RunCheck
	// Tools returns the agents' tools in the order of Agents. They replace Agent.Tools. The
	// panel calls Tools when a turn begins, resumes or is previewed. The tools stay the same
	// within the turn unless ToolsVersion grows. If Tools returns an error, the panel refuses
	// the turn. Nil means Agent.Tools. Tools may run for turns of several sessions at once,
	// and must return when ctx ends.
	Tools func(ctx context.Context) ([][]agents.Tool, error)
	// ToolsVersion returns a number that grows when Tools may return other tools. The panel
	// calls ToolsVersion when a call of a model or of a tool has come back, so it must return
	// at once. If the number has grown, the panel calls Tools, and the next model calls of the
	// turn are sent the new tools. Calls under way and the coordination tools do not change.
	// If Tools returns an error, the panel reports it (report.ToolsKept) and keeps the tools.
	// If ToolsVersion is nil, or a Remote plays the turn, the tools do not change within a turn.
	ToolsVersion func() uint64
	// InTurn returns the parameters and the tool mode of an agent, by its place, in the turn that
	// ctx begins. The journal has them. Nil means Agent.Params and Agent.ToolMode.
	InTurn func(ctx context.Context, agent int) (backends.Params, effect.ToolMode)
	// TurnSeed returns what the turn that ctx begins takes in place of a drawn seed; ok is false for nothing. Nil
	// means that each turn without Seed draws one.
	TurnSeed func(ctx context.Context) (seed uint64, ok bool)
	// Rules are the rules of coordination. Start from kernel.Defaults() and change single
	// rules, or leave Rules zero for the defaults. New sets Rules.Agents from Agents.
	Rules kernel.Config
	// Limits bound a step; the zero value means effect.DefaultLimits.
	Limits effect.Limits
	// Budget limits the cost of a turn and of its session (DESIGN §6); the zero value is no
	// limit. Before the panel sends an attempt of a call, it reserves the attempt's highest
	// possible cost. An attempt over budget waits until other attempts release budget that
	// they did not need. When nothing else goes on, the waiting attempt ends the turn with the
	// best answer so far.
	Budget budget.Budget
	// Override replaces limits of a turn that Resume or Rerun goes on with. A person sets it.
	// Where Override has no limit, the tighter limit holds: the one that the turn began with,
	// or the one of Budget. Override does not reset the amount that the turn has spent.
	Override budget.Budget
	Store    Store
	// Remote plays the turns of the panel in other processes, and this process watches the
	// turns by their journals. If Remote is nil, this process plays the turns.
	Remote Remote
	// Sections returns texts that the panel adds to each system message of the next turn, such
	// as facts about the user. Nil adds nothing. Sections may run for turns of several
	// sessions at once.
	Sections func(ctx context.Context, session string) ([]string, error)
	// DescribeFiles has one agent describe the files of a question for the agents whose models do
	// not take them: the first one whose model takes most kinds of files, where images count more
	// than PDFs. Without it, a question with such files is refused.
	DescribeFiles bool
	// Topic, if not nil, finds the topic of a question before round 1. Facts, if not nil,
	// finds facts about the user after the winner is committed. While Facts runs, the session
	// is busy, but Wait already returns the result.
	Topic, Facts *Sidecall
	// Summarizer makes the summaries of older turns. Agents with policy.Summarize need it.
	Summarizer *Summarizer
	// Approve asks a person whether a tool call may run. The panel calls Approve for one call
	// at a time in a turn. Approve must return when ctx ends. An error means no. Where nobody
	// can be asked, Approve is nil: then the call runs only if Unattended is true.
	Approve    func(ctx context.Context, request ApprovalRequest) (Decision, error)
	Unattended bool
	// Masking returns the masker of a text that a model writes, which hides secrets in the events of the text. Nil
	// hides nothing. The panel calls Masking concurrently.
	Masking func() *secrets.Stream
	// Config identifies the configuration of the panel (configs.Config.Digest). A Remote
	// plays a turn only in processes with the same Config.
	Config string
	// PanelValue is the value that agents.PanelValue returns in the agents' tools. The value
	// of a single turn is in the context of Start or Resume (agents.WithTurnValue).
	PanelValue any
	// BeforeTurn runs before the panel accepts a turn. If BeforeTurn returns an error, the
	// panel refuses the turn.
	BeforeTurn func(ctx context.Context, t *Turn) error
	// AfterTurn runs when the turn has its result and the winner is in the history, before
	// Wait returns. In AfterTurn the turn's Status is still Running, and a call of Wait would
	// never return. Without Facts the session is free by then, so its next turn may begin
	// while AfterTurn runs. Wait returns an error or panic of AfterTurn with the result.
	AfterTurn func(ctx context.Context, t *Turn, r report.Result) error
}

// Panel is a set of agents that answer questions together. It is safe for
// concurrent use; turns of different sessions run side by side.
type Panel struct {
	opts Options
	own  string // the id of the session for turns that name no session
	// scheduled lets a simulation control which posts a local turn receives, and when.
	scheduled func(*localTurn)

	texts *agents.Cache // of opts.Store

	mu      sync.Mutex
	running int
	idle    *sync.Cond // uses mu; signals that running is 0
}

// New returns a panel, or an error that names a fault in the options.
func New(opts Options) (*Panel, error) {
	ids, err := checkAgents(opts.Agents)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(opts.Rules, kernel.Config{}) {
		opts.Rules = kernel.Defaults()
	}
	opts.Rules.Agents = ids
	if err := opts.checkStrategy(); err != nil {
		return nil, err
	}
	if err := opts.Rules.Validate(); err != nil {
		return nil, fmt.Errorf("rules: %w (kernel.Defaults() is a start)", err)
	}
	if opts.Limits == (effect.Limits{}) {
		opts.Limits = effect.DefaultLimits()
	}
	if opts.Limits.MaxTurns < 1 || opts.Limits.MaxAttempts < 1 {
		return nil, errors.New("max_turns and max_attempts must be at least 1")
	}
	opts.Limits.EndAtLimits, opts.Limits.FinalMessage = true, true
	if opts.Store == nil {
		return nil, errors.New("a panel needs a store: sessions.NewMemory() makes one")
	}
	if err := cmp.Or(opts.Topic.check("topic"), opts.Facts.check("facts"), opts.Summarizer.check()); err != nil {
		return nil, err
	}
	if err := checkBudget(opts); err != nil {
		return nil, err
	}
	opts.Agents = slices.Clone(opts.Agents)
	for i, a := range opts.Agents {
		if opts.Agents[i], err = checkContext(a, opts.Summarizer); err != nil {
			return nil, err
		}
	}
	for i := len(opts.Agents); i < opts.size(); i++ {
		if a := opts.agent(i); a != nil {
			if *a, err = checkContext(*a, opts.Summarizer); err != nil {
				return nil, err
			}
		}
	}
	return newPanel(opts), nil
}

// newPanel returns a panel without checking the options.
func newPanel(opts Options) *Panel {
	p := &Panel{opts: opts, own: sessions.NewID(), texts: agents.NewCache(opts.Store)}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// checkAgents returns the agents' ids, or an error that names a fault of an agent.
func checkAgents(list []Agent) ([]string, error) {
	ids := make([]string, len(list))
	for i, a := range list {
		same := func(id string) bool { return strings.EqualFold(id, a.ID) }
		if a.ID == "" || slices.ContainsFunc(ids, same) {
			return nil, fmt.Errorf("agent %d has the id %q: ids must not be empty, and must differ in more than case", i+1, a.ID)
		}
		if contextbuild.Clean(a.ID) != a.ID || strings.ContainsAny(a.ID, "\t\r\n") {
			return nil, fmt.Errorf("agent %d has the id %q: it must not have control characters", i+1, a.ID)
		}
		if a.Backend == nil {
			return nil, fmt.Errorf("agent %s has no backend", a.ID)
		}
		if err := checkTools(a.ID, a.Tools); err != nil {
			return nil, err
		}
		ids[i] = a.ID
	}
	return ids, nil
}

// Wait returns when no turn of the panel is running.
func (p *Panel) Wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.running > 0 {
		p.idle.Wait()
	}
}

// count adds turns to the number of running turns: 1 when a turn begins, -1 when it ends.
func (p *Panel) count(turns int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running += turns; p.running == 0 {
		p.idle.Broadcast()
	}
}

// Start begins the next turn of a session, and returns as soon as the turn is accepted. A new id begins
// a session; sessions.NewID returns one. The id "" means one fixed session of this panel. attach.With
// gives the question files. Cancelling ctx ends the turn as Cancel does. The error is sessions.ErrBusy
// if a turn of the session is not over. Other errors name a fault of the question, the store or the
// options.
func (p *Panel) Start(ctx context.Context, session, question string) (*Turn, error) {
	session = cmp.Or(session, p.own)
	question = contextbuild.Clean(question)
	if err := CheckQuestion(question); err != nil {
		return nil, err
	}
	files, err := p.opts.takeFiles(ctx)
	if err != nil {
		return nil, err
	}
	ctx, question = attach.With(ctx, files), asked(question, files)
	if p.opts.Remote != nil {
		return p.startRemote(ctx, session, question)
	}
	begun, err := p.opts.Store.Begin(ctx, session, question)
	if err != nil {
		return nil, fmt.Errorf("begin a turn of session %s: %w", session, err)
	}
	t := newTurn(session, begun.Turn, question)
	err = whileHeld(
		func() error { return p.accept(ctx, t, begun) },
		func() error { return p.opts.Store.Leave(context.WithoutCancel(ctx), session, begun.Turn) },
	)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// CheckQuestion returns an error for an empty question and for a question of more than
// MaxQuestion bytes. Start refuses such questions before it does anything else.
func CheckQuestion(question string) error {
	if strings.TrimSpace(question) == "" {
		return errors.New("the question is empty")
	}
	if len(question) > MaxQuestion {
		return fmt.Errorf("the question has %d bytes, and the most is %d (1 MiB): every agent is sent it in every round; shorten it, or let the agents read the text from a file",
			len(question), MaxQuestion)
	}
	return nil
}

// accept writes the turn to the journal, and begins to play it.
func (p *Panel) accept(ctx context.Context, t *Turn, begun sessions.Begun) error {
	if err := beforeTurn(ctx, p.opts.BeforeTurn, t); err != nil {
		return err
	}
	described, err := p.prepare(ctx, t, begun)
	if err != nil {
		return err
	}
	rules := rulesFor(p.opts.Rules, t.tools)
	p.opts.complete(ctx, &rules, &described)
	limits, err := p.allowance(ctx, p.opts.Budget, t.session, t.number)
	if err != nil {
		return err
	}
	e := newLocalTurn(ctx, p, t)
	defer e.closeUnopened()
	if err := e.accept(rules, described, limits); err != nil {
		return err
	}
	e.open(ctx)
	return nil
}

// rulesFor returns the rules of a turn whose agents have such tools. If the person who asks runs
// some of them, an agent has to present the answer: only that step is offered them.
func rulesFor(rules kernel.Config, byAgent [][]agents.Tool) kernel.Config {
	isForwarded := func(tool agents.Tool) bool { return tool.Definition().Forwarded }
	hasForwarded := func(tools []agents.Tool) bool { return slices.ContainsFunc(tools, isForwarded) }
	if rules.Final == kernel.WinnerReuse && slices.ContainsFunc(byAgent, hasForwarded) {
		rules.Final = kernel.WinnerPresent
	}
	return rules
}

// prepare returns the description by which the turn is played, and gives the turn its tools. If
// the turn abandons an interrupted turn, prepare first records the cost of the interrupted turn.
func (p *Panel) prepare(ctx context.Context, t *Turn, begun sessions.Begun) (effect.Turn, error) {
	if err := giveUp(ctx, p.opts.Store, t, begun.Interrupted); err != nil {
		return effect.Turn{}, err
	}
	described, err := p.describe(ctx, t, begun.History)
	if err != nil {
		return described, fmt.Errorf("store turn %d: %w", t.number, err)
	}
	if err := p.opts.giveFiles(ctx, t.question, &described); err != nil {
		return described, fmt.Errorf("store the files of turn %d: %w", t.number, err)
	}
	if err := p.choose(ctx, t, &described); err != nil {
		return described, fmt.Errorf("choose the history of turn %d: %w", t.number, err)
	}
	topic, ok, err := p.describeSidecall(ctx, effect.TopicDetection, p.opts.Topic, SidecallTurn{Session: t.session, Question: t.question})
	if ok {
		described.Sidecalls = append(described.Sidecalls, topic)
	}
	return described, err
}

// describe stores the texts that the turn's inputs are built from, and gives the turn its tools.
func (p *Panel) describe(ctx context.Context, t *Turn, history blob.Ref) (effect.Turn, error) {
	d := effect.Turn{Session: t.session, Turn: t.number, History: history, Limits: p.opts.Limits}
	var err error
	if d.Question, err = p.opts.Store.Put(ctx, []byte(t.question)); err != nil {
		return d, err
	}
	if d.Sections, err = p.sections(ctx, t.session); err != nil {
		return d, err
	}
	if answers := schema.Of(ctx); answers != nil {
		if d.Schema, err = p.opts.Store.Put(ctx, []byte(answers.String())); err != nil {
			return d, err
		}
	}
	if d.Value, err = p.opts.valueIn(d.Schema); err != nil {
		return d, err
	}
	if err := p.giveTools(ctx, t); err != nil {
		return d, err
	}
	for i := range p.opts.size() {
		known := p.opts.agent(i)
		if known == nil {
			continue
		}
		a := *known
		if p.opts.InTurn != nil && i < len(p.opts.Agents) {
			a.Params, a.ToolMode = p.opts.InTurn(ctx, i)
		}
		var tools []agents.Tool
		if i < len(t.tools) {
			tools = t.tools[i]
		}
		agent, err := agents.Describe(ctx, p.opts.Store, a.ID, a.SystemMessage, a.Model, a.Params, tools)
		if err != nil {
			return d, err
		}
		agent.ToolMode, agent.Workspace, agent.Bounded = a.ToolMode, a.Snapshot != nil, a.Bounded
		agent.TextCalls = a.TextCalls
		if a.Guidance != "" {
			if agent.Guidance, err = p.opts.Store.Put(ctx, []byte(a.Guidance)); err != nil {
				return d, err
			}
		}
		switch known {
		case p.opts.Judge:
			d.Judge = &agent
		case p.opts.Verdict:
			d.Verdict = &agent
		default:
			d.Agents = append(d.Agents, agent)
		}
	}
	return d, p.carry(ctx, &d)
}

// sections stores the texts of Options.Sections for a session's next turn, and returns their
// reference.
func (p *Panel) sections(ctx context.Context, session string) (blob.Ref, error) {
	if p.opts.Sections == nil {
		return blob.Ref{}, nil
	}
	texts, err := p.opts.Sections(ctx, session)
	if err != nil || len(texts) == 0 {
		return blob.Ref{}, err
	}
	return agents.PutJSON(ctx, p.opts.Store, texts)
}
