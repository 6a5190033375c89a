package coordinator

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// toolServer is a server whose list of tools changes when its tool grow is called.
type toolServer struct {
	mu      sync.Mutex
	names   []string
	version uint64
	fault   func() error
}

func newToolServer() *toolServer { return &toolServer{names: []string{"grow", "seed"}} }

func (g *toolServer) set(names ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.names = names
	g.version++
}

func (g *toolServer) Version() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.version
}

// options give the agents of a panel the server's tools.
func (g *toolServer) options(o *Options) {
	n := len(o.Agents)
	o.ToolsVersion = g.Version
	o.Tools = func(context.Context) ([][]agents.Tool, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.fault != nil && g.version > 0 {
			if err := g.fault(); err != nil {
				return nil, err
			}
		}
		var tools []agents.Tool
		for _, name := range g.names {
			tools = append(tools, grower{g, name, g.version})
		}
		return slices.Repeat([][]agents.Tool{tools}, n), nil
	}
}

// grower is a tool of it. That which grows is described anew with each version.
type grower struct {
	g       *toolServer
	name    string
	version uint64
}

func (t grower) Definition() backends.Tool {
	about := "does " + t.name
	if t.name == "grow" && t.version > 0 {
		about += " again"
	}
	return backends.Tool{Name: t.name, Description: about, Schema: []byte(`{"type":"object"}`)}
}

func (grower) Idempotent() bool { return true }

func (t grower) Call(context.Context, string) (string, error) {
	if t.name == "grow" {
		t.g.set("grow", "grown")
	}
	return t.name + " is done", nil
}

// grows is a turn of two agents in which the first has the tools changed while a call of
// the second is under way.
const grows = `
rules:
  - {when: {round: 1, agent: agent1, index: 0}, reply: {tool_calls: [{id: a, name: grow, arguments: {}}]}}
  - {when: {round: 1, agent: agent1, index: 1}, reply: {tool_calls: [{id: b, name: grown, arguments: {x: 1}}, {id: c, name: seed, arguments: {}}]}}
  - {when: {round: 1, agent: agent2, index: 0}, reply: {delay: 5s, tool_calls: [{id: d, name: seed, arguments: {}}]}}
  - {when: {round: 1, agent: agent2, index: 1}, reply: {tool_calls: [{id: e, name: grown, arguments: {x: 2}}]}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}}"}}
  - {when: {}, reply: {delay: 1s, vote: {agent: agent1, reason: "good"}}}
`

// namesSent are the tools of each request, by agent, round and number.
func namesSent(r *debugbackend.Recorder) map[string]string {
	sent := map[string]string{}
	for _, call := range r.Calls() {
		var names []string
		for _, tool := range call.Request.Tools {
			names = append(names, tool.Name)
		}
		sent[call.Request.Key.String()] = strings.Join(names, " ")
	}
	return sent
}

// TestToolsThatChangeWithinATurn are those of the next call of each agent.
func TestToolsThatChangeWithinATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := panelOf(t, 2, grows, nil, func(o *Options) {
			newToolServer().options(o)
			for i := range o.Agents {
				o.Agents[i].Backend = recorder.Wrap(o.Agents[i].Backend)
			}
		})
		handle := start(t, p, "energy")
		r := wait(t, handle)
		const before, after = "new_answer vote grow seed", "new_answer vote grow grown"
		want := map[string]string{
			"turn 1, agent1, round 1, coordination 0": before, "turn 1, agent2, round 1, coordination 0": before,
			"turn 1, agent1, round 1, coordination 1": after, "turn 1, agent2, round 1, coordination 1": after,
			"turn 1, agent1, round 1, coordination 2": after, "turn 1, agent2, round 1, coordination 2": after,
			"turn 1, agent1, round 2, coordination 0": after, "turn 1, agent2, round 2, coordination 0": after,
		}
		if diff := cmp.Diff(want, namesSent(recorder)); diff != "" {
			t.Errorf("the tools that were sent (-want +got):\n%s", diff)
		}
		var called []string
		for _, c := range r.ToolCalls {
			called = append(called, c.Agent+" "+string(c.State)+" "+c.Name+": "+c.Result)
		}
		wantCalls := []string{
			"agent1 ran grow: grow is done",
			"agent1 refused seed: Error: there is no such tool on offer",
			"agent1 ran grown: grown is done",
			// The call was asked for with the tool, which has gone since.
			"agent2 refused seed: Error: the tool seed is not there any more. Go on without it.",
			"agent2 ran grown: grown is done",
		}
		slices.Sort(called[1:3])
		slices.Sort(wantCalls[1:3])
		if diff := cmp.Diff(wantCalls, called); diff != "" {
			t.Errorf("the tool calls (-want +got):\n%s", diff)
		}
		change := report.ToolsChange{Added: []string{"grown"}, Removed: []string{"seed"}, Described: []string{"grow"}}
		wantTold := []report.ToolsChanged{{Actor: report.Actor{Agent: "agent1", State: step.AwaitingTool}, Tools: change}, {Actor: report.Actor{Agent: "agent2", State: step.AwaitingLLM}, Tools: change}}
		if diff := cmp.Diff(wantTold, eventsOf[report.ToolsChanged](t, handle), headless()); diff != "" {
			t.Errorf("what was told (-want +got):\n%s", diff)
		}
		isRecorded(t, store, 1)
	})
}

// TestToolsThatCannotBeListed cost nothing but a word, and are looked for again when they
// change again.
func TestToolsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	for want, fault := range map[string]func(g *toolServer) error{
		"list the agents' tools: no list":   func(*toolServer) error { return errors.New("no list") },
		"Options.Tools panicked: oops":      func(*toolServer) error { panic("oops") },
		"Options.Tools ended its goroutine": func(*toolServer) error { runtime.Goexit(); return nil },
		`second tool named "vote"`:          func(g *toolServer) error { g.names = []string{"vote"}; return nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newToolServer()
			p, store := panelOf(t, 2, grows, nil, func(o *Options) {
				g.fault = func() error { return fault(g) }
				g.options(o)
			})
			handle := start(t, p, "energy")
			r := wait(t, handle)
			told := eventsOf[report.ToolsKept](t, handle)
			if len(told) != 1 || !strings.Contains(told[0].Why, want) || r.Status != kernel.Completed {
				t.Errorf("the turn is %s, and was told %+v, want %q", r.Status, told, want)
			}
			if i := slices.IndexFunc(r.ToolCalls, func(c report.ResultToolCall) bool { return c.Name == "seed" && c.State == effect.ToolRan }); i < 0 {
				t.Errorf("the tools have not stayed: %+v", r.ToolCalls)
			}
			isRecorded(t, store, 1)
		})
	}
}

// TestAnOlderListingIsNotTaken: two effects may end at once, and list the tools in one
// order and be heard in the other.
func TestAnOlderListingIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 1, grows, nil, nil)
		handle := newTurn("s", 1, "energy")
		begun, err := p.opts.Store.Begin(t.Context(), "s", "energy")
		if err != nil {
			t.Fatal(err)
		}
		described, err := p.prepare(t.Context(), handle, begun)
		if err != nil {
			t.Fatal(err)
		}
		e := newLocalTurn(t.Context(), p, handle)
		if _, err := e.machine.Apply(turn.Accepted{At: 1, Rules: p.opts.Rules, Turn: described}); err != nil {
			t.Fatal(err)
		}
		var newest blob.Ref
		for _, l := range []*toolListing{
			{version: 3, tools: [][]agents.Tool{{sayer("newer")}}},
			{version: 2, tools: [][]agents.Tool{{sayer("older")}}},
			{version: 3, fault: "no list"},
			nil,
		} {
			if l != nil {
				if err := e.describeTools(l); err != nil {
					t.Fatal(err)
				}
			}
			for _, ev := range e.acceptTools(l, 1) {
				if _, err := e.machine.Apply(ev); err != nil {
					t.Fatal(err)
				}
			}
			if newest == (blob.Ref{}) {
				newest = l.refs[0]
			}
		}
		if e.machine.Tools(0) != newest || e.toolsVersion != 3 || e.doer.Members[0].Tools[0] != sayer("newer") {
			t.Errorf("version %d with the tools %v", e.toolsVersion, e.doer.Members[0].Tools)
		}
	})
}

// TestTurnWithNewToolsIsResumedFromEveryEvent as one whose tools do not change.
func TestTurnWithNewToolsIsResumedFromEveryEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newToolServer() // it outlives its clients
		change := func(o *Options) { o.Agents = o.Agents[:2]; g.options(o) }
		p, texts := panelOf(t, 2, grows, nil, change)
		want := wait(t, start(t, p, "energy"))
		journal, err := texts.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		interrupted := 0
		for n := 1; n <= len(journal); n++ {
			got, calls := resumeAfter(t, grows, change, journal[:n], texts)
			for key, times := range calls {
				if times > 1 {
					t.Errorf("after %d of %d events: %v was called %d times", n, len(journal), key, times)
				}
			}
			if slices.ContainsFunc(got.ToolCalls, func(c report.ResultToolCall) bool { return c.State == effect.ToolInterrupted }) {
				interrupted++ // of the tool that has gone nobody can know any more that it may run twice
				continue
			}
			if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Errorf("after %d of %d events: the result (-want +got):\n%s", n, len(journal), diff)
			}
		}
		if interrupted != 1 {
			t.Errorf("a call was interrupted %d times, want once", interrupted)
		}
	})
}

// TestOtherToolsThanTheJournals: a turn is resumed whose tools have changed while nobody
// was there. What was under way is sent what it was to be sent.
func TestOtherToolsThanTheJournals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := panelOf(t, 2, grows, nil, newToolServer().options)
		wait(t, start(t, p, "energy"))
		journal, err := texts.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		store := sessions.NewMemory()
		begin(t, store, journal[:1], texts)
		if err := store.Leave(t.Context(), "s", 1); err != nil {
			t.Fatal(err)
		}
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		other := p.on(store)
		for i := range other.opts.Agents {
			other.opts.Agents[i].Backend = recorder.Wrap(other.opts.Agents[i].Backend)
		}
		other.opts.ToolsVersion = nil
		other.opts.Tools = func(context.Context) ([][]agents.Tool, error) {
			return [][]agents.Tool{{sayer("grown"), sayer("seed")}, nil}, nil
		}
		handle, err := other.Resume(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		wait(t, handle)
		sent := namesSent(recorder)
		for key, want := range map[string]string{
			"turn 1, agent1, round 1, coordination 0": "new_answer vote grow seed",
			"turn 1, agent2, round 1, coordination 0": "new_answer vote grow seed",
			"turn 1, agent1, round 1, coordination 1": "new_answer vote grown seed",
			"turn 1, agent2, round 1, coordination 1": "new_answer vote",
		} {
			if sent[key] != want {
				t.Errorf("%s was sent %q, want %q", key, sent[key], want)
			}
		}
		wantTold := []report.ToolsChanged{
			{Actor: report.Actor{Agent: "agent1", State: step.AwaitingLLM}, Tools: report.ToolsChange{Added: []string{"grown"}, Removed: []string{"grow"}, Described: []string{"seed"}}},
			{Actor: report.Actor{Agent: "agent2", State: step.AwaitingLLM}, Tools: report.ToolsChange{Removed: []string{"grow", "seed"}}},
		}
		if diff := cmp.Diff(wantTold, eventsOf[report.ToolsChanged](t, handle), headless()); diff != "" {
			t.Errorf("what was told (-want +got):\n%s", diff)
		}
		isRecorded(t, store, 1)
	})
}
