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
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/sessions"
)

// MaxQuestion is the longest question that is taken, in bytes: it is sent to
// every agent in every round.
const MaxQuestion = 1 << 20

// Journal takes the events of a turn before they are applied, and returns them from a place
// on, which counts from 0.
type Journal interface {
	Append(ctx context.Context, session string, turn int, events ...[]byte) error
	Journal(ctx context.Context, session string, turn, from int) ([][]byte, error)
}

// Turns are those of the conversations. Begin holds a session for a turn; End lets go
// of it, and adds the turn to the history if it has an answer. Commit does the same and
// goes on holding the session, for calls that follow the answer: End then adds their
// usage to what is kept.
type Turns interface {
	Begin(ctx context.Context, session, question string) (sessions.Begun, error)
	Commit(ctx context.Context, session string, turn int, ended sessions.Ended) error
	End(ctx context.Context, session string, turn int, ended sessions.Ended) error
}

// Unfinished are the turns that have no end. Resume holds a session for its last one,
// at which nobody is at work; Leave lets go of one, and leaves its journal as it is; NoteCut
// says what it has cost, for a running turn that gives it up by its first event.
type Unfinished interface {
	Resume(ctx context.Context, session string) (sessions.Begun, error)
	Leave(ctx context.Context, session string, turn int) error
	NoteCut(ctx context.Context, session string, turn int, usage budget.Usage) error
}

// Sessions keeps the conversations.
type Sessions interface {
	AllTurns
	Notes
	Copies
}

// AllTurns are those that run, have ended or were left.
type AllTurns interface {
	Turns
	Unfinished
}

// Notes are what is known of sessions. Session tells what one has come to, and
// SetMetadata changes what is noted of it.
type Notes interface {
	Session(ctx context.Context, id string) (sessions.Session, error)
	SetMetadata(ctx context.Context, id string, metadata map[string]string) error
}

// Copies are of whole sessions. Branch copies one up to a turn that is over, under another
// id, and Delete removes one.
type Copies interface {
	Branch(ctx context.Context, from string, turn int, to string) (sessions.Session, error)
	Delete(ctx context.Context, id string) error
}

// Store is all that a panel keeps. Stores are safe for concurrent use;
// sessions.NewMemory makes one that lives as long as the process, and
// sessions/sqlite opens one on disk.
type Store interface {
	agents.Blobs
	Journal
	Sessions
}

// Agent is one member of a panel.
type Agent struct {
	// ID names the agent in results; models know it as agentN.
	ID string
	// SystemMessage stands before the coordination text; it may be empty.
	SystemMessage string
	Backend       backends.Backend
	// Provider is the type of the model's provider, for results; it may be empty.
	Provider string
	Model    string
	Params   backends.Params
	// Tools are the agent's own, beside answering and voting. Plan, Permit and KeepResult
	// are as in agents.Member, but in a panel of one nothing is planned; what Permit
	// leaves to a person goes to Options.Approve.
	Tools      []agents.Tool
	Plan       func(tool agents.Tool, arguments string) (result string, planned bool)
	Permit     func(tool, arguments string) (permission machine.Permission, why string)
	KeepResult func(name, result string) (where string, err error)
	// Snapshot keeps the agent's workspace as it is now, in a folder that is the call's
	// own, and is called for each of its answers (see agents.CallInfo); after a kill it may
	// be called again for the same one. An error is told as a warning, and the answer
	// counts without. It is nil for an agent that has no workspace.
	Snapshot func(ctx context.Context, of agents.CallInfo) (agents.Snapshot, error)
	// ToolMode says how the coordination tools are offered; empty means ToolsNative.
	ToolMode machine.ToolMode
	// Context says how much of a session's history the agent is shown; its zero value
	// is all of it.
	Context agents.Context
}

// Options say who is on a panel and by which rules it works.
type Options struct {
	// Agents stand in the order that breaks ties.
	Agents []Agent
	// Tools returns the agents' tools in the order of Agents, in place of Agent.Tools,
	// whenever a turn is begun or resumed, or previewed: within the turn they stay as they
	// are then, unless ToolsVersion has grown. Its error refuses the turn. Nil means
	// Agent.Tools. It is called for turns of several sessions at once, and ends when ctx
	// does.
	Tools func(ctx context.Context) ([][]agents.Tool, error)
	// ToolsVersion is a number that grows when Tools may return something else. It is asked
	// for when a call of a model or of a tool has come back, and answers at once. If it has
	// grown, Tools is called, and what it returns is what the next model calls of the turn
	// are sent; those that are under way, and the coordination tools, stay as they are. An
	// error of Tools is told (ToolsKept) and changes nothing. Nil: the tools do not change
	// within a turn, nor do they where an Engine plays it.
	ToolsVersion func() uint64
	// Rules are those of coordination: start from kernel.Defaults() and change what
	// is to differ, or leave all of it zero for the defaults. The list of agents in
	// it is filled in from Agents.
	Rules kernel.Config
	// Limits bound a step; the zero value means machine.DefaultLimits.
	Limits machine.Limits
	// Budget is the most that may be spent (DESIGN §6); the zero value is no limit. Before an
	// attempt of a call is sent, the most that it may cost is held; what does not fit waits
	// until other attempts have given back what they did not need, and ends the turn, with
	// the best so far, when nothing else goes on.
	Budget budget.Budget
	// Override is what a person says of the budget of a turn that is gone on with, by Resume
	// or Rerun: its limits take the place of those with which the turn was begun, of which
	// else the tighter ones hold, its own or Budget's. What was spent stays spent.
	Override budget.Budget
	Store    Store
	// Engine plays the turns of the panel in other processes, which this one watches by
	// the journal. Nil plays them here.
	Remote Remote
	// Sections returns what the next turn's system messages have beside the agents' own
	// and the coordination's, such as what is known of the user; nil adds nothing. It
	// is called for turns of several sessions at once.
	Sections func(ctx context.Context, session string) ([]string, error)
	// Topic, if it is not nil, finds out what a question is about before round 1, and
	// Facts what is to be remembered of the user when the winner is committed. Until
	// that is done the session is busy, while Wait has the result already.
	Topic, Facts *Sidecall
	// Summarizer makes the summaries of older turns, which agents need whose policy is
	// policy.Summarize.
	Summarizer *Summarizer
	// Approve asks a person whether a tool call may run. It is called for one call at a
	// time in a turn, and ends when ctx does. An error means no, and so does nil, where
	// nobody is there, unless Unattended says that such a call may run.
	Approve    func(ctx context.Context, call Approval) (bool, error)
	Unattended bool
	// Config names what the processes must have in common that play one turn together, for
	// an Engine (configs.Config.Digest).
	Config string
	// PanelValue is what the agents' tools find as agents.PanelValue. That of a turn is in
	// the context of Start or Resume (agents.WithTurnValue).
	PanelValue any
	// BeforeTurn runs before a turn is accepted; its error refuses the turn.
	BeforeTurn func(ctx context.Context, t *Turn) error
	// AfterTurn runs when the result is there and the winner is in the history,
	// before Wait returns: in it, Status is still Running, and Wait would wait for
	// ever. Unless Facts are looked for, the session is free by then, so its next turn may
	// begin meanwhile. Its error, or panic, is returned by Wait beside the result.
	AfterTurn func(ctx context.Context, t *Turn, r report.Result) error
}

// Panel is a set of agents that answer questions together. It is safe for
// concurrent use; turns of different sessions run side by side.
type Panel struct {
	opts Options
	own  string // the session of turns for which none is named
	// scheduled lets a simulation take over how an engine runs work and receives posts.
	scheduled func(*localTurn)

	histories agents.Histories

	mu      sync.Mutex
	running int
	idle    *sync.Cond // of mu: running is 0
}

// New returns a panel. The error says what is wrong with the options.
func New(opts Options) (*Panel, error) {
	ids, err := checkAgents(opts.Agents)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(opts.Rules, kernel.Config{}) {
		opts.Rules = kernel.Defaults()
	}
	opts.Rules.Agents = ids
	if err := opts.Rules.Validate(); err != nil {
		return nil, fmt.Errorf("rules: %w (kernel.Defaults() is a start)", err)
	}
	if opts.Limits == (machine.Limits{}) {
		opts.Limits = machine.DefaultLimits()
	}
	if opts.Limits.MaxTurns < 1 || opts.Limits.MaxAttempts < 1 {
		return nil, errors.New("max_turns and max_attempts must be at least 1")
	}
	opts.Limits.EndAtLimits = true
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
	return newPanel(opts), nil
}

// newPanel returns a panel whose options are in order.
func newPanel(opts Options) *Panel {
	p := &Panel{opts: opts, own: sessions.NewID()}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// checkAgents returns the agents' ids, or what is wrong with the agents.
func checkAgents(list []Agent) ([]string, error) {
	ids := make([]string, len(list))
	for i, a := range list {
		same := func(id string) bool { return strings.EqualFold(id, a.ID) }
		if a.ID == "" || slices.ContainsFunc(ids, same) {
			return nil, fmt.Errorf("agent %d has the id %q: ids must be there, and differ, also when case is ignored", i+1, a.ID)
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

// count books that a turn has begun, or has ended.
func (p *Panel) count(turns int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running += turns; p.running == 0 {
		p.idle.Broadcast()
	}
}

// Start begins the next turn of a session, which begins to exist when it is first
// named; "" is one of the panel's own, the same each time, and sessions.NewID names a new one. It returns as
// soon as the turn is accepted. Cancelling ctx ends the turn as Cancel does. The error
// is sessions.ErrBusy for a session whose turn is not over, and otherwise says what is
// wrong with the question or the store.
func (p *Panel) Start(ctx context.Context, session, question string) (*Turn, error) {
	session = cmp.Or(session, p.own)
	question = contextbuild.Clean(question)
	if err := CheckQuestion(question); err != nil {
		return nil, err
	}
	if p.opts.Remote != nil {
		return p.startRemote(ctx, session, question)
	}
	begun, err := p.opts.Store.Begin(ctx, session, question)
	if err != nil {
		return nil, fmt.Errorf("begin a turn of session %s: %w", session, err)
	}
	t := newTurn(session, begun.Turn, question)
	if err := p.accept(ctx, t, begun); err != nil {
		refused := sessions.Ended{Status: kernel.AllFailed}
		return nil, errors.Join(err, p.opts.Store.End(context.WithoutCancel(ctx), session, t.number, refused))
	}
	return t, nil
}

// CheckQuestion says what is wrong with a question, before anything else is done
// with it: Start refuses an empty one and one of more than MaxQuestion bytes.
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

// accept writes the turn to the journal and sets its engine going.
func (p *Panel) accept(ctx context.Context, t *Turn, begun sessions.Begun) error {
	if p.opts.BeforeTurn != nil {
		if err := p.opts.BeforeTurn(ctx, t); err != nil {
			return fmt.Errorf("before turn %d: %w", t.number, err)
		}
	}
	described, err := p.prepare(ctx, t, begun)
	if err != nil {
		return err
	}
	limits, err := p.allowance(ctx, p.opts.Budget, t.session, t.number)
	if err != nil {
		return err
	}
	e := newLocalTurn(ctx, p, t)
	if err := e.accept(p.opts.Rules, described, limits); err != nil {
		return err
	}
	p.run(ctx, e)
	return nil
}

// prepare fixes all that the turn is played by, its tools among it, and notes what the one
// has cost that it gives up.
func (p *Panel) prepare(ctx context.Context, t *Turn, begun sessions.Begun) (machine.Turn, error) {
	if err := giveUp(ctx, p.opts.Store, t, begun.Interrupted); err != nil {
		return machine.Turn{}, err
	}
	described, err := p.describe(ctx, t, begun.History)
	if err != nil {
		return described, fmt.Errorf("store turn %d: %w", t.number, err)
	}
	if err := p.choose(ctx, t, &described); err != nil {
		return described, fmt.Errorf("choose the history of turn %d: %w", t.number, err)
	}
	topic, ok, err := p.describeSidecall(ctx, machine.TopicDetection, p.opts.Topic, SidecallTurn{Session: t.session, Question: t.question})
	if ok {
		described.Sidecalls = append(described.Sidecalls, topic)
	}
	return described, err
}

// run sets an engine going.
func (p *Panel) run(ctx context.Context, e *localTurn) {
	p.count(1)
	go func() {
		defer p.count(-1)
		e.run(ctx)
	}()
}

// describe stores all that the turn's inputs are built from, and gives the turn its tools.
func (p *Panel) describe(ctx context.Context, t *Turn, history blob.Ref) (machine.Turn, error) {
	d := machine.Turn{Session: t.session, Turn: t.number, History: history, Limits: p.opts.Limits}
	var err error
	if d.Question, err = p.opts.Store.Put(ctx, []byte(t.question)); err != nil {
		return d, err
	}
	if d.Sections, err = p.sections(ctx, t.session); err != nil {
		return d, err
	}
	if err := p.giveTools(ctx, t); err != nil {
		return d, err
	}
	for i, a := range p.opts.Agents {
		agent, err := agents.Describe(ctx, p.opts.Store, a.ID, a.SystemMessage, a.Model, a.Params, t.tools[i])
		if err != nil {
			return d, err
		}
		agent.ToolMode, agent.Workspace = a.ToolMode, a.Snapshot != nil
		d.Agents = append(d.Agents, agent)
	}
	return d, nil
}

// sections stores what the system messages of a session's next turn are to have.
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
