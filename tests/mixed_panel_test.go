package tests

import (
	"testing"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// mixedPanel is a panel of an agent for each protocol, which has the protocol's name
// and model, and a server of its own.
type mixedPanel struct {
	panel
	servers map[string]*backendtest.Server
}

// newMixedPanel reaches its servers without the network. member makes each agent of
// one that has nothing but its id, its model and its adapter.
func newMixedPanel(
	t *testing.T, member func(protocol, coordinator.Agent) coordinator.Agent, reply func(protocol, backendtest.Call) backendtest.Reply,
) mixedPanel {
	t.Helper()
	p := mixedPanel{servers: map[string]*backendtest.Server{}}
	opts := coordinator.Options{Store: sessions.NewMemory(), Rules: kernel.Defaults()}
	for _, proto := range protocols() {
		server, adapter := proto.serve(t, func(c backendtest.Call) backendtest.Reply { return reply(proto, c) })
		p.servers[proto.name] = server
		opts.Agents = append(opts.Agents, member(proto, coordinator.Agent{ID: proto.name, Model: proto.model, Backend: adapter}))
	}
	var err error
	if p.Panel, err = coordinator.New(opts); err != nil {
		t.Fatal(err)
	}
	return p
}

// anonymous is how models know the agent of a protocol: by its place among the ids.
func anonymous(p protocol) string {
	return map[string]string{"claude": "agent1", "gemini": "agent2", "openai": "agent3", "responses": "agent4"}[p.name]
}

// voting answers when nobody has, and then votes for the agent of a protocol.
func voting(best protocol, c backendtest.Call) backendtest.Reply {
	if isBlind(c) {
		return newAnswer("the answer of " + c.Model())
	}
	return vote(anonymous(best), "it is the clearest")
}
