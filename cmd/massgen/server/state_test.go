package server_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// TestStateIsASnapshotAndItsChanges: a client that reconnects gets a snapshot again, and one that comes when the turn
// is over gets the whole state at once.
func TestStateIsASnapshotAndItsChanges(t *testing.T) {
	g := gated{make(chan struct{})}
	s := serve(t, withGate(g))
	path := s.start(t, "s", "alone")
	hasBegun := func(e event) bool { return strings.Contains(e.data, `"text":"It "`) }
	for range 2 {
		head := s.stream(t, path+"/state", "", hasBegun)
		if head[0].name != "snapshot" || slices.ContainsFunc(head[1:], func(e event) bool { return e.name != "change" }) {
			t.Fatalf("the state begins with %+v", head)
		}
	}
	close(g.gate)
	rest := s.stream(t, path+"/state", "", nil)
	if rest[0].name != "snapshot" || rest[len(rest)-1].name != "end" {
		t.Fatalf("the state is %+v", rest)
	}
	whole := s.stream(t, path+"/state", "", nil)
	var kept report.State
	if err := json.Unmarshal([]byte(whole[0].data), &kept); err != nil {
		t.Fatal(err)
	}
	if len(kept.Agents) != 1 || kept.Agents[0].Answer() != "It depends." || kept.Status != "completed" || len(kept.News) == 0 {
		t.Errorf("the snapshot of a turn that is over is %s", whole[0].data)
	}
}

// TestStateNamesTheAgentsOfItsModel in the order of the config.
func TestStateNamesTheAgentsOfItsModel(t *testing.T) {
	s := serve(t, nil)
	path := s.start(t, "s", "pair")
	head := s.stream(t, path+"/state", "", func(event) bool { return true })
	var first report.State
	if err := json.Unmarshal([]byte(head[0].data), &first); err != nil {
		t.Fatal(err)
	}
	if len(first.Agents) != 2 || first.Agents[0].ID != "ada" || first.Agents[1].ID != "bob" {
		t.Errorf("the first snapshot has the agents %+v", first.Agents)
	}
}

// TestStateNamesTheAgentsOfItsJournal, which nobody plays, before any of them begins.
func TestStateNamesTheAgentsOfItsJournal(t *testing.T) {
	s := serve(t, nil)
	if _, err := s.store.Begin(t.Context(), "s", "Why?"); err != nil {
		t.Fatal(err)
	}
	data, err := turn.Encode(turn.Accepted{At: 1, Rules: kernel.Defaults("ada", "bob"), Turn: effect.Turn{
		Session: "s", Turn: 1, Agents: []effect.Agent{{ID: "ada"}, {ID: "bob"}},
		Sidecalls: []effect.Sidecall{{Purpose: effect.Summarizing}},
	}})
	if err = errors.Join(err, s.store.Append(t.Context(), "s", 1, data), s.store.Leave(t.Context(), "s", 1)); err != nil {
		t.Fatal(err)
	}
	var all string
	for _, e := range s.stream(t, "/sessions/s/turns/1/state", "", nil) {
		all += e.data
	}
	if strings.Count(all, `"id":"ada"`) != 1 || strings.Count(all, `"id":"bob"`) != 1 || !strings.Contains(all, string(effect.Summarizing)) {
		t.Errorf("the state is %s", all)
	}
}
