package coordinator

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// TestRulesOfNow: a call that was under way when its process ended is made again only if the
// rules let it run as they are now, whatever its journal says.
func TestRulesOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		removed := make(chan string, 100)
		panel := func(permission effect.Permission) func(*Options) {
			return func(o *Options) {
				for i := range o.Agents {
					o.Agents[i].Tools = []agents.Tool{remover{removed}}
					o.Agents[i].Permit = func(string, string) (effect.Permission, string) { return permission, "the rule of now" }
				}
				o.Approve = func(context.Context, Approval) (Decision, error) { return Decision{Allowed: true}, nil }
			}
		}
		for _, c := range []struct{ then, now effect.Permission }{
			{effect.Allowed, effect.Allowed}, {effect.Allowed, effect.Denied}, {effect.Allowed, effect.Asked},
			{effect.Asked, effect.Asked}, {effect.Asked, effect.Denied}, {effect.Asked, effect.Allowed},
		} {
			p, store := panelOf(t, 3, removing, nil, panel(c.then))
			wait(t, start(t, p, "energy"))
			journal, err := store.Journal(t.Context(), "s", 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			first := slices.IndexFunc(journal, func(event []byte) bool { return bytes.Contains(event, []byte(`"type":"tool_done"`)) })
			underWay := bytes.Count(joined(journal[:first]), []byte(`"type":"model_done"`))
			for range len(removed) {
				<-removed
			}
			resumeAfter(t, removing, panel(c.now), journal[:first], store)
			want := 3
			switch {
			case c.now == effect.Denied:
				want = 0
			case c.then == effect.Allowed && c.now == effect.Asked:
				want -= underWay // of the others a person is asked
			}
			if n := len(removed); n != want || underWay == 0 {
				t.Errorf("%q then and %q now, with %d under way: %d calls were made, want %d", c.then, c.now, underWay, n, want)
			}
		}
	})
}
