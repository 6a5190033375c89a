package tests

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	library "github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

// TestMain: tests that end processes start this program in other roles.
func TestMain(m *testing.M) {
	library.Launcher()
	switch os.Getenv(killedRole) {
	case roleProgram:
		os.Exit(mortal())
	case roleTools:
		os.Exit(serveEcho())
	}
	leaks.Main(m)
}

// panel is a panel of agents that call one server over HTTP, each by a model name
// that is the agent's id.
type panel struct {
	*coordinator.Panel
	server   *backendtest.Server
	store    *sessions.Store
	recorder *debugbackend.Recorder
}

type panelOptions struct {
	agents int
	// protocol is how the server is called; the zero value means OpenAI's.
	protocol protocol
	dump     string // the folder for inputs, or none
	rules    func(*kernel.Config)
	// pipe reaches the server without the network, as a synctest bubble needs it.
	pipe bool
	// retries repeats the attempts of a call, at once.
	retries bool
}

func newPanel(t testing.TB, o panelOptions, reply func(backendtest.Call) backendtest.Reply) panel {
	t.Helper()
	p := panel{store: sessions.NewMemory(), recorder: debugbackend.NewRecorder(debugbackend.Options{Dir: o.dump})}
	if o.protocol.name == "" {
		o.protocol = openAI()
	}
	var transport *http.Transport
	if o.pipe {
		p.server = backendtest.NewProtocolPipeServer(t, o.protocol.wire, reply)
		transport = p.server.Transport()
	} else {
		p.server = backendtest.NewProtocolServer(t, o.protocol.wire, reply)
		transport = &http.Transport{MaxIdleConnsPerHost: o.agents}
	}
	backend := p.recorder.Wrap(o.protocol.connect(t, p.server.BaseURL, transport))
	if o.retries {
		backend = retry.New(backend, newGate(o.protocol.name, retry.Limits{}), retry.Options{Random: func() float64 { return 0 }})
	}
	opts := coordinator.Options{Store: p.store, Rules: kernel.Defaults()}
	if o.rules != nil {
		o.rules(&opts.Rules)
	}
	for i := range o.agents {
		id := fmt.Sprintf("agent%d", i+1)
		opts.Agents = append(opts.Agents, coordinator.Agent{ID: id, Model: id, Backend: backend})
	}
	var err error
	if p.Panel, err = coordinator.New(opts); err != nil {
		t.Fatal(err)
	}
	return p
}

// ask runs one turn of the session "s" to its result.
func (p panel) ask(t testing.TB, question string) report.Result {
	t.Helper()
	return p.askIn(t, "s", question)
}

// askIn runs one turn of a session to its result.
func (p panel) askIn(t testing.TB, session, question string) report.Result {
	t.Helper()
	turn, err := p.Start(t.Context(), session, question)
	if err != nil {
		t.Fatal(err)
	}
	result, err := turn.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func newAnswer(content string) backendtest.Reply {
	return toolCall("new_answer", fmt.Sprintf(`{"content":%q}`, content))
}

func vote(agent, reason string) backendtest.Reply {
	return toolCall("vote", fmt.Sprintf(`{"agent_id":%q,"reason":%q}`, agent, reason))
}

func toolCall(name, arguments string) backendtest.Reply {
	return backendtest.Reply{
		ToolCalls: []backends.ToolCall{{ID: "call_1", Name: name, Arguments: arguments}},
		Usage:     &backends.Usage{InputTokens: 100, OutputTokens: 10},
	}
}

// isBlind reports whether the input shows no answer yet.
func isBlind(c backendtest.Call) bool {
	return strings.Contains(c.User(), "(no answers available yet)")
}

// agreeable answers when nobody has, and then votes for agent2.
func agreeable(c backendtest.Call) backendtest.Reply {
	switch {
	case !isCoordination(c):
		return backendtest.Reply{Text: "the answer of " + c.Model()}
	case isBlind(c):
		return newAnswer("the answer of " + c.Model())
	}
	return vote("agent2", "it is the clearest")
}

func isCoordination(c backendtest.Call) bool { return strings.Contains(c.User(), "<ORIGINAL MESSAGE>") }
