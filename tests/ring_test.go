package tests

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestRingSendsFewBytes counts the bodies of all requests of a turn of 100 agents, whose answers have
// 4,000 characters. In a ring of four they are under a tenth of those without.
func TestRingSendsFewBytes(t *testing.T) {
	t.Parallel()
	const agents, most = 100, 0.10
	all, ring := bytesSent(t, agents, kernel.Peers{}), bytesSent(t, agents, kernel.Peers{Ring: 4})
	share := float64(ring) / float64(all)
	t.Logf("%d of %d bytes, %.2f %%", ring, all, 100*share)
	if share >= most {
		t.Errorf("the ring sends %.2f %% of the bytes", 100*share)
	}
}

// bytesSent returns the bytes of all request bodies of a blind turn.
func bytesSent(t *testing.T, agents int, peers kernel.Peers) (sum int) {
	t.Helper()
	rules := func(r *kernel.Config) { r.Decider, r.Peers = kernel.Blind, peers }
	p := newPanel(t, panelOptions{agents: agents, rules: rules}, func(c backendtest.Call) backendtest.Reply {
		if isBlind(c) {
			text := "the answer of " + c.Model() + " "
			return newAnswer(text + strings.Repeat(".", 4000-len(text)))
		}
		return vote(c.Model(), "it is mine")
	})
	r := p.ask(t, "How many suns?")
	if len(r.Answers) != agents || len(r.Votes) != agents || len(r.Failed) > 0 {
		t.Fatalf("%d answers, %d votes, failed: %+v", len(r.Answers), len(r.Votes), r.Failed)
	}
	for _, body := range p.server.Bodies() {
		sum += len(body)
	}
	return sum
}
