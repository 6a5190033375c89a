package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// patience is how long a workflow may take for one step: a machine may be slow.
const patience = 5 * time.Minute

// newEnvironment skips the time of a workflow.
func newEnvironment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(patience)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: patience})
	return env
}

// memory is a store in memory that several workers share.
type memory struct {
	*sessions.Store
	mu      sync.Mutex
	begun   *sessions.Begun
	results map[string][]byte
	// refused are the results that it will not take, once each.
	refused map[string]bool
	// losesEnd says that it cannot tell whether the next turn that ends was ended, and releases its session.
	losesEnd bool
}

func (s *memory) End(ctx context.Context, id string, number int, e sessions.Ended) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = nil
	if s.losesEnd {
		s.losesEnd = false
		return errors.Join(sessions.Away(errors.New("the connection was lost")), s.Leave(ctx, id, number))
	}
	return s.Store.End(ctx, id, number, e)
}

func (s *memory) Resume(ctx context.Context, id string) (sessions.Begun, error) {
	return s.keep(s.Store.Resume(ctx, id))
}

func (s *memory) keep(b sessions.Begun, err error) (sessions.Begun, error) {
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begun = &b
	}
	return b, err
}

func (s *memory) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	return s.keep(s.Store.Begin(ctx, id, question))
}

func (s *memory) Held(context.Context, string) (sessions.Begun, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun == nil {
		return sessions.Begun{}, false, nil
	}
	return *s.begun, true, nil
}

func (s *memory) AtWork(string) (rest func()) { return func() {} }

func (s *memory) AppendAt(ctx context.Context, id string, number, place int, list ...[]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, err := s.Journal(ctx, id, number, 0)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) { // which the first event makes
		return err
	}
	if list = list[min(len(list), len(events)-place):]; len(list) == 0 {
		return nil
	}
	return s.Append(ctx, id, number, list...)
}

func (s *memory) PutAll(ctx context.Context, texts [][]byte) (refs []blob.Ref, err error) {
	for _, text := range texts {
		ref, err := s.Put(ctx, text)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

func (s *memory) GetAll(ctx context.Context, refs []blob.Ref) (map[blob.Ref][]byte, error) {
	found := map[blob.Ref][]byte{}
	for _, ref := range refs {
		if data, err := s.Get(ctx, ref); err == nil {
			found[ref] = data
		}
	}
	return found, nil
}

func (s *memory) KeepResults(ctx context.Context, id string, number int, results map[string][]byte, texts [][]byte) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range results {
		name := fmt.Sprint(id, number, key)
		if s.refused[name] {
			if len(results) == 1 { // of several results none is stored, and each is tried alone
				delete(s.refused, name)
			}
			return nil, sessions.ErrNotRunning
		}
	}
	stand := map[string][]byte{}
	for key, result := range results {
		name := fmt.Sprint(id, number, key)
		if _, ok := s.results[name]; !ok {
			s.results[name] = result
		}
		stand[key] = s.results[name]
	}
	_, err := s.PutAll(ctx, texts)
	return stand, err
}

func (s *memory) Results(_ context.Context, id string, number int, keys []string) (map[string][]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stand := map[string][]byte{}
	for _, key := range keys {
		if result, ok := s.results[fmt.Sprint(id, number, key)]; ok {
			stand[key] = result
		}
	}
	return stand, s.begun != nil, nil
}

// refuse has the store take the next result of a key no more than if it could not be reached.
func (s *memory) refuse(id string, number int, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[fmt.Sprint(id, number, key)] = true
}

// quiet is a server that cancels nothing.
type quiet struct{}

func (quiet) Heartbeat(context.Context, []byte, string) error { return nil }
func (quiet) IsOver(context.Context, string, string) bool     { return false }

// fleet are two workers in an environment that skips time. The agents have their tools at the
// first one, until it is lost.
type fleet struct {
	*testsuite.TestWorkflowEnvironment
	t       *testing.T
	store   *memory
	workers [2]*activities
	backend *counting
	rules   kernel.Config
	form    form
	// change changes the options of both workers' panels.
	change func(*coordinator.Options)

	mu sync.Mutex
	// lose says whether a worker is lost before it takes an activity, in it, or after it has
	// done the activity and before anybody has heard of that. The first worker only can be lost
	// before.
	lose func(activity string, w work) loss
	// waits reports whether an activity waits for the database until the server gives it up, before it announces the
	// effect.
	waits func(w work) bool
	// late says which effects come to the first worker only when it is gone.
	late func(w work) bool
	gone chan struct{} // closed when the first worker is lost
	// looked is closed when agent b has called its tool, which the loss of a worker waits for.
	looked chan struct{}

	signed bool // the workers show signs of life

	tools sync.Mutex
	done  map[string]int // by tool, how often it was called
	at    map[string]int // by tool, the worker of its last call
}

// Show implements Signs.
func (f *fleet) Show(context.Context, string) (hide func(), err error) { return func() {}, nil }

// IsShown implements Signs: a worker that is lost is killed.
func (f *fleet) IsShown(_ context.Context, name string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return name != f.workers[0].home || !f.isGone(), nil
}

// loss is when a worker is lost.
type loss int

const (
	none loss = iota
	before
	during
	after
	// broken is a worker that lives, and whose activity fails in the call.
	broken
	// untold is a worker that lives, and does not hear that it is to do an activity.
	untold
	// unkept is a worker that lives, does a call, and can neither tell nor keep the result.
	unkept
	// drained is a worker that has said that it ended, and never takes what was scheduled for it meanwhile.
	drained
)

// counting counts the requests of each call.
type counting struct {
	backends.Backend
	mu    sync.Mutex
	calls map[backends.Key]int
}

func (c *counting) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	c.mu.Lock()
	c.calls[req.Key]++
	c.mu.Unlock()
	return c.Backend.Stream(ctx, req)
}

// fleetScript has agent a write and read, and agent b look, before they answer and vote.
const fleetScript = `
rules:
  - {when: {agent: a, round: 1, index: 0}, reply: {tool_calls: [{id: call_1, name: write, arguments: {}}]}}
  - {when: {agent: a, round: 1, index: 1}, reply: {tool_calls: [{id: call_2, name: read, arguments: {}}]}}
  - {when: {agent: b, round: 1, index: 0}, reply: {tool_calls: [{id: call_3, name: look, arguments: {}}]}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} says: the sun."}}
  - {when: {}, reply: {vote: {agent: agent1, reason: clear}}}
`

func newFleet(t *testing.T) *fleet {
	t.Helper()
	return newFleetOf(t, fleetScript, func(*fleet) {})
}

// newFleetOf is a fleet whose models follow a script, and which adapt changes before it has panels.
func newFleetOf(t *testing.T, text string, adapt func(*fleet)) *fleet {
	t.Helper()
	script, err := debugbackend.ParseScript([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{
		TestWorkflowEnvironment: newEnvironment(), t: t, store: &memory{Store: sessions.NewMemory(), results: map[string][]byte{}, refused: map[string]bool{}},
		backend: &counting{Backend: debugbackend.NewScripted(script), calls: map[backends.Key]int{}},
		lose:    func(string, work) loss { return none }, waits: func(work) bool { return false }, late: func(work) bool { return false }, gone: make(chan struct{}), looked: make(chan struct{}),
		done: map[string]int{}, at: map[string]int{}, rules: kernel.Defaults("a", "b"), form: turnsByTexts, change: func(*coordinator.Options) {},
	}
	adapt(f)
	end := ""
	if f.signed {
		end = signedEnd
	}
	for i := range f.workers {
		f.workers[i] = &activities{panel: f.panel(i), as: func(string) Store { return f.store }, texts: f.store, server: quiet{}, signs: f, home: fmt.Sprint("home", i, end)}
	}
	f.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
	common := f.workers[1] // the other processes that listen to the queue of all are like it
	for name, run := range map[string]any{
		prepareName: unheard(f, prepareName, f.workers[0].prepare), concludeName: unheard(f, concludeName, common.conclude),
		performName: f.perform, watchName: common.watch, journalName: common.journal, finishName: common.finish, leaveName: common.leave, putTextsName: common.putTexts,
	} {
		f.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
	return f
}

// panel returns the panel of a worker. Agent a has two tools and a workspace, agent b one tool.
func (f *fleet) panel(number int) *coordinator.Panel {
	f.t.Helper()
	tool := func(name string) agents.Tool {
		t, err := agents.NewTool(name, "It can "+name+".", func(context.Context, struct{}) (string, error) {
			f.tools.Lock()
			defer f.tools.Unlock()
			f.done[name]++
			f.at[name] = number
			if name == "look" {
				close(f.looked)
			}
			return "did " + name, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
		return t
	}
	options := coordinator.Options{Store: f.store, Rules: f.rules, Agents: []coordinator.Agent{
		{ID: "a", Backend: f.backend, Tools: []agents.Tool{tool("write"), tool("read")},
			Snapshot: func(context.Context, agents.CallInfo) (agents.Snapshot, error) {
				return agents.Snapshot{Dir: "/kept"}, nil
			}},
		{ID: "b", Backend: f.backend, Tools: []agents.Tool{tool("look")}},
	}}
	f.change(&options)
	panel, err := coordinator.New(options)
	if err != nil {
		f.t.Fatal(err)
	}
	return panel
}

// isLost says whether a worker is lost that has done an activity. After the first worker none
// is.
func (f *fleet) isLost(name string, w work) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.isGone() && f.lose(name, w) == after
}

// isGone says whether the first worker is lost. The caller holds the lock.
func (f *fleet) isGone() bool {
	select {
	case <-f.gone:
		return true
	default:
		return false
	}
}

// unheard is an activity of which nobody hears if its worker is lost.
func unheard[In, Out any](f *fleet, name string, run func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		out, err := run(ctx, in)
		if err == nil && f.isLost(name, work{}) {
			err = temporal.NewHeartbeatTimeoutError()
		}
		return out, err
	}
}

// perform does an effect at the worker that it is for, unless that is lost.
func (f *fleet) perform(ctx context.Context, sent work) (result, error) {
	w := sent
	if err := f.turnOf(w.Owner).open(ctx, &w); err != nil {
		return result{}, err
	}
	if f.waits(w) {
		return result{}, temporal.NewHeartbeatTimeoutError()
	}
	if w.Joins { // it is asked for where it was
		return f.performBy(ctx, sent, w, none)
	}
	f.mu.Lock()
	isGone := f.isGone()
	l := none
	if !isGone {
		l = f.lose(performName, w)
	}
	f.mu.Unlock()
	if f.late(w) {
		<-f.gone
	}
	return f.performBy(ctx, sent, w, l)
}

// turnOf returns a turn at the common worker, where no activity is lost.
func (f *fleet) turnOf(owner string) *turnAtWork {
	t, leave := f.workers[1].turn(owner)
	leave()
	return t
}

// performBy does an effect that was sent, which w has in full.
func (f *fleet) performBy(ctx context.Context, sent, w work, l loss) (result, error) {
	isHome := activity.GetInfo(ctx).TaskQueue == f.workers[0].home
	by := f.workers[1]
	if isHome {
		by = f.workers[0]
		if l != none {
			<-f.looked
		}
		f.mu.Lock()
		isGone := f.isGone()
		if l == before || l == during || l == after || l == drained {
			close(f.gone)
		}
		f.mu.Unlock()
		if isGone && f.signed && w.Joins { // nobody takes it
			<-f.t.Context().Done()
		}
		if l == drained {
			f.SignalWorkflow(homeSignal, endedHome{toTurn{w.Turn.Turn}, f.workers[0].home})
			<-f.t.Context().Done()
		}
		if isGone || l == before {
			return result{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		}
	}
	switch l {
	case untold:
		return result{}, temporal.NewHeartbeatTimeoutError()
	case during, broken, unkept:
		e, err := w.Effect.effect()
		if err != nil {
			return result{}, err
		}
		f.store.refuse(w.Session, w.Turn.Turn, e.EffectKey().String())
	}
	r, err := by.perform(ctx, sent)
	switch {
	case err == nil && l == broken:
		err = errors.New("the disk is full")
	case err == nil && l != none:
		err = temporal.NewHeartbeatTimeoutError(by.home)
	}
	return r, err
}

// outcome is what a turn has come to.
type outcome struct {
	status         kernel.Status
	winner, answer string
	tools          map[string][]string // by agent, what its calls have come to
	kept           string              // the last snapshot of agent a
	checks         []string            // of agent a, what came of them
	lost           int                 // calls that are in the journal as lost
}

// request is the request for the fleet's turn.
func (f *fleet) request() request {
	return request{Form: f.form, Session: "s", Owner: "o", Question: []byte("energy?"), Terms: coordinator.TurnOptions{Rules: f.rules}}
}

// play plays a turn.
func (f *fleet) play() (o outcome) {
	f.t.Helper()
	return f.playOn(f.request())
}

// playOn runs the workflow of a request, which may continue a turn that an earlier run began.
func (f *fleet) playOn(in request) (o outcome) {
	f.t.Helper()
	ctx := f.t.Context()
	f.ExecuteWorkflow(workflowName, in)
	if !f.IsWorkflowCompleted() {
		f.t.Fatal("the turn does not end")
	}
	f.check(f.GetWorkflowError())
	turns, err := f.store.Turns(ctx, "s", 0)
	f.check(err)
	if len(turns) != 1 {
		f.t.Fatalf("there are %d turns", len(turns))
	}
	o = outcome{status: turns[0].Status, winner: turns[0].Winner, answer: turns[0].Answer, tools: map[string][]string{}}
	events, err := f.store.Journal(ctx, "s", 1, 0)
	f.check(err)
	for _, data := range events {
		ev, err := turn.Decode(data)
		f.check(err)
		switch ev := ev.(type) {
		case turn.Lost:
			o.lost++
		case turn.ToolDone:
			f.note(&o, ev)
		}
	}
	return o
}

func (f *fleet) note(o *outcome, done turn.ToolDone) {
	f.t.Helper()
	text, err := f.store.Get(f.t.Context(), done.Reply.Result)
	f.check(err)
	if (effect.ToolCall{Key: done.Key}).IsSnapshot() {
		o.kept = string(text)
		return
	}
	if done.Key.Purpose.IsCheck() {
		if done.Key.Agent == 0 {
			o.checks = append(o.checks, string(text))
		}
		return
	}
	agent := []string{"a", "b"}[done.Key.Agent]
	state := done.Reply.State
	if state == "" {
		state = effect.ToolRan
	}
	o.tools[agent] = append(o.tools[agent], fmt.Sprintf("%s: %s", state, text))
}

func (f *fleet) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// repeated are the calls that were requested more than once.
func (f *fleet) repeated() map[backends.Key]int {
	times := maps.Clone(f.backend.calls)
	maps.DeleteFunc(times, func(_ backends.Key, n int) bool { return n == 1 })
	return times
}
