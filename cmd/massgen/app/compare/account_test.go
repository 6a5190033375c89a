package compare

import (
	"testing"

	"github.com/massgen/massgen/internal/coordination/effect"
)

// TestPanelOfTwoColumnsIsPaidOnce: a preset and a strategy may name the same panel, which has one session.
func TestPanelOfTwoColumnsIsPaidOnce(t *testing.T) {
	t.Parallel()
	u := unit{Digest: "d", Shares: true}
	m := &meter{plan: &plan{Runs: 1, Columns: []column{{Name: "consensus", Units: []unit{u}}, {Name: "council", Units: []unit{u}}}}}
	usd := 0.5
	one := cell{seconds: 2, lost: 1, calls: []call{
		{key: effect.Key{Purpose: effect.Coordination, Round: 1}, reply: effect.ModelReply{Usage: &effect.Usage{CostUSD: &usd}}},
		{key: effect.Key{Purpose: effect.Coordination, Round: 2}, reply: effect.ModelReply{Usage: &effect.Usage{CostUSD: &usd}}},
	}}
	a := m.account([][][]cell{{{one}}, {{one}}})
	if first, second := a.usage[0][0], a.usage[1][0]; first.Calls != 2 || first.SharedCalls != 0 || second.Calls != 2 || second.SharedCalls != 2 {
		t.Errorf("the columns have %+v and %+v", first, second)
	}
	if a.spent.Calls != 2 || *a.spent.CostUSD != 1 || a.seconds != 2 || a.repeated != 1 {
		t.Errorf("in all: %+v", a)
	}
}
