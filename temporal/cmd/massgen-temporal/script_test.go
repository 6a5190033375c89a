package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/tests/backendtest"
)

// service is a fake service whose models are the agents' ids. It counts what it is asked,
// and lets a test say when it answers.
type service struct {
	*backendtest.Server
	// held says which calls are not answered before release.
	held    func(backendtest.Call) bool
	release chan struct{}
	// free releases what is held, and holds nothing any more.
	free func()

	mu      sync.Mutex
	holding int
}

func newService(t testing.TB, reply func(backendtest.Call) backendtest.Reply) *service {
	s := &service{held: func(backendtest.Call) bool { return false }, release: make(chan struct{})}
	s.free = sync.OnceFunc(func() { close(s.release) })
	s.Server = backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		if s.held(c) {
			s.mu.Lock()
			s.holding++
			s.mu.Unlock()
			<-s.release
		}
		return reply(c)
	})
	t.Cleanup(s.free) // before the server waits for its calls
	return s
}

// holds counts the calls that were held.
func (s *service) holds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holding
}

// agents are the lines of a config with n agents, and more, in which $URL is the service's.
// Its turns wait for all agents: on a busy machine some can be a minute behind the others.
func (s *service) agents(n int, more ...string) (lines []string) {
	const patient = "orchestrator: {straggler_grace: 0"
	end := "}"
	for _, line := range more {
		line = strings.ReplaceAll(line, "$URL", s.BaseURL)
		if settings, is := strings.CutPrefix(line, "orchestrator: {"); is {
			end = ", " + settings
			continue
		}
		lines = append(lines, line)
	}
	lines = append(lines, "agents:")
	for i := range n {
		lines = append(lines, fmt.Sprintf("  - {id: agent%d, backend: {base_url: %q, model: agent%[1]d}}", i+1, s.BaseURL))
	}
	return append(lines, patient+end)
}

// asked counts the requests of each body.
func (s *service) asked() map[string]int {
	count := map[string]int{}
	for _, body := range s.Bodies() {
		count[string(body)]++
	}
	return count
}

func act(name, format string, args ...any) backendtest.Reply {
	return backendtest.Reply{
		ToolCalls: []backends.ToolCall{{ID: "call_1", Name: name, Arguments: fmt.Sprintf(format, args...)}},
		Usage:     &backends.Usage{InputTokens: 100, OutputTokens: 10},
	}
}

func isBlind(c backendtest.Call) bool {
	return strings.Contains(c.User(), "(no answers available yet)")
}

// agreeable answers when nobody has, and then votes for agent2.
func agreeable(c backendtest.Call) backendtest.Reply {
	if isBlind(c) {
		return act("new_answer", `{"content":"the answer of %s"}`, c.Model())
	}
	return act("vote", `{"agent_id":"agent2","reason":"it is the clearest"}`)
}

// restless answers anew each time, so that only a limit ends the turn. The agents of a turn on
// a busy machine can agree in fewer calls than two rounds of all: who is asked late sees the
// answers of the others, and votes at once.
func restless() func(backendtest.Call) backendtest.Reply {
	var answers atomic.Int64
	return func(c backendtest.Call) backendtest.Reply {
		return act("new_answer", `{"content":"answer %d, of %s"}`, answers.Add(1), c.Model())
	}
}

// journals has the events of turns.
type journals interface {
	Journal(ctx context.Context, session string, turn, from int) ([][]byte, error)
}

// replies counts the model calls that are in the journal of a turn of session s.
func replies(t testing.TB, store journals, turn int) (n int) {
	events, err := store.Journal(t.Context(), "s", turn, 0)
	if err != nil { // it has not begun
		return 0
	}
	for _, ev := range events {
		if bytes.HasPrefix(ev, []byte(`{"type":"model_done"`)) {
			n++
		}
	}
	return n
}

// order lets the answers of a service go in a scripted order: each when the one before it
// is in the journal.
type order struct {
	t testing.TB

	mu     sync.Mutex
	store  journals
	turn   int
	models []string
	// released counts the answers of the turn that were let go, asked its models that were
	// asked so far.
	released int
	asked    map[string]bool
	together int // as in scenario
}

// begin says in which order the models of a turn are to answer.
func (o *order) begin(store journals, turn int, models string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.store, o.turn, o.models, o.released, o.asked = store, turn, strings.Fields(models), 0, map[string]bool{}
}

// wait returns when it is a model's turn.
func (o *order) wait(model string) {
	const pause = 5 * time.Millisecond
	for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(pause) {
		if o.take(model) {
			return
		}
	}
	o.t.Errorf("it is never the turn of %s; what is left: %s", model, strings.Join(o.models, " "))
}

// tools counts the tool calls of the turn that are under way.
func (o *order) tools() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, tools := progress(o.t, o.store, o.turn)
	return tools
}

// progress counts the model calls that are in the journal of a turn of session s, and the
// tool calls that are under way by then.
func progress(t testing.TB, store journals, number int) (replies, tools int) {
	events, err := store.Journal(t.Context(), "s", number, 0)
	if err != nil { // it has not begun
		return 0, 0
	}
	var m turn.Machine
	for _, data := range events {
		ev, err := turn.Decode(data)
		ok(t, err)
		switch ev.(type) {
		case turn.ModelDone:
			replies++
		case turn.ToolDone:
			tools--
		}
		commands, err := m.Apply(ev)
		ok(t, err)
		for _, c := range commands {
			if run, isRun := c.(turn.Run); isRun {
				if _, isTool := run.Effect.(effect.ToolCall); isTool {
					tools++
				}
			}
		}
	}
	return replies, tools
}

// take reports whether a model may answer now, and takes its place in the order.
func (o *order) take(model string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[model] = true
	if len(o.asked) < o.together || len(o.models) == 0 || o.models[0] != model {
		return false
	}
	replies, tools := progress(o.t, o.store, o.turn)
	if replies < o.released || tools > 0 {
		return false
	}
	o.models, o.released = o.models[1:], o.released+1
	return true
}
