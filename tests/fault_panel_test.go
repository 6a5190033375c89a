package tests

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/tests/backendtest"
)

// turn runs a panel of an agent for each protocol, of which the one of p meets the
// fault. Whatever one call of it costs, the turn ends with the others' answer, names
// the agent and why it failed, and has cost no more requests.
func (f fault) turn(t *testing.T, p protocol, one cost) (status kernel.Status, took time.Duration) {
	best := google()
	if p.name == best.name {
		best = claude()
	}
	synctest.Test(t, func(t *testing.T) {
		panel := newMixedPanel(t, func(proto protocol, a coordinator.Agent) coordinator.Agent {
			around := fault{}
			if proto.name == p.name {
				around = f
			}
			a.Backend = around.around(t, proto, a.Backend)
			return a
		}, func(proto protocol, c backendtest.Call) backendtest.Reply {
			if proto.name == p.name && f.hits(c) {
				return f.reply
			}
			return voting(best, c)
		})
		start := time.Now()
		r := panel.ask(t, "What is it?")
		status, took = r.Status, time.Since(start)
		if r.Winner != best.name || r.Answer != "the answer of "+best.model {
			t.Errorf("%s of %s: %s won with %q", f.name, p.name, r.Winner, r.Answer)
		}
		if one.end == anAnswer {
			if len(r.Failed) > 0 {
				t.Errorf("%s of %s: failed: %+v", f.name, p.name, r.Failed)
			}
			return
		}
		if len(r.Failed) != 1 || r.Failed[0].Agent != p.name || !one.explains(r.Failed[0].Error) {
			t.Errorf("%s of %s: failed: %+v; want %s with %s", f.name, p.name, r.Failed, p.name, one.end)
		}
		if n := len(panel.servers[p.name].Calls()); n != one.requests {
			t.Errorf("%s of %s: %d requests in a panel, %d for one call", f.name, p.name, n, one.requests)
		}
	})
	return status, took
}

// explains reports whether an agent's error tells how its call ended, or that the others
// did not wait for that.
func (c cost) explains(message string) bool {
	waitedFor := c.took < kernel.Defaults().StragglerGrace
	return strings.Contains(message, strings.TrimPrefix(c.end, "error: ")) || !waitedFor && strings.Contains(message, "had not come back")
}

// TestCancelledTurnFreesEveryConnection: all three services are in the middle of an
// answer when a person ends the turn, and see their connections end.
func TestCancelledTurnFreesEveryConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newMixedPanel(t, func(_ protocol, a coordinator.Agent) coordinator.Agent { return a },
			func(protocol, backendtest.Call) backendtest.Reply {
				return backendtest.Reply{Text: "I think that", Fault: backendtest.HangMidStream}
			})
		turn, err := p.Start(t.Context(), "s", "What is it?")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for name, server := range p.servers {
			if server.Open() != 1 {
				t.Errorf("%s answers %d calls", name, server.Open())
			}
		}
		turn.Cancel()
		r, err := turn.Wait(t.Context())
		if err != nil || r.Status != kernel.Cut {
			t.Errorf("status %s, %v", r.Status, err)
		}
		synctest.Wait()
		for name, server := range p.servers {
			if server.Open() != 0 {
				t.Errorf("%s still answers", name)
			}
		}
	})
}
