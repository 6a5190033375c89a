package coordinator

import (
	"slices"
	"testing"
	"testing/synctest"
)

// TestMembersAreFoundByTheirIDs: a panel that watches a turn may have its agents in another order.
func TestMembersAreFoundByTheirIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 3, agree, nil, func(o *Options) {
			for i := range o.Agents {
				o.Agents[i].Provider = "provider of " + o.Agents[i].ID
			}
		})
		turn := start(t, p, "energy")
		wait(t, turn)
		p.Wait()
		watching := p.on(p.opts.Store)
		watching.opts.Agents = slices.Clone(p.opts.Agents)
		slices.Reverse(watching.opts.Agents)
		v := newView(t.Context(), watching, turn, turn.local.view.machine)
		for i, want := range []string{"provider of agent1", "provider of agent2", "provider of agent3"} {
			if _, got := v.member(i); got != want {
				t.Errorf("agent %d has the %q, want %q", i+1, got, want)
			}
		}
	})
}
