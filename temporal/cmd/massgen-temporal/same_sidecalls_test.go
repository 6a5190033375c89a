package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/backendtest"
)

// attentive has models beside the agents', which find a topic and a fact in the first turn,
// and write a summary.
func attentive(c backendtest.Call) backendtest.Reply {
	_, question, _ := strings.Cut(c.User(), "## QUESTION\n")
	isFirst := strings.HasPrefix(question, "question 1")
	switch model := c.Model(); {
	case model == "topic" && isFirst:
		return act("set_topic", `{"name":"Tyburn","location":"London"}`)
	case model == "facts" && isFirst:
		return act("remember", `{"facts":["Lives in Seattle."]}`)
	case model == "summary":
		return backendtest.Reply{Text: "They spoke of old things.", Usage: &backends.Usage{InputTokens: 50, OutputTokens: 5}}
	case model == "topic", model == "facts":
		return backendtest.Reply{Text: "none", Usage: &backends.Usage{InputTokens: 30, OutputTokens: 1}}
	}
	return agreeable(c)
}

// TestEnginesMakeTheSameSidecalls: the calls for a topic and a summary before round 1, and for
// facts after the answer, lead to the same journals, topic, facts and
// summary.
func TestEnginesMakeTheSameSidecalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	played := scenario{name: "asides", agents: 2, reply: attentive, config: []string{
		`topic: {detect: true, backend: {base_url: "$URL", model: topic}}`,
		`memory: {extract: true, backend: {base_url: "$URL", model: facts}}`,
		`context: {policy: summarize, max_messages: 2, keep_recent: 2, summarize: {backend: {base_url: "$URL", model: summary}}}`,
	}, turns: []string{
		"topic agent2 agent1 agent1 agent2 facts",
		"topic agent1 agent2 agent2 agent1 facts",
		"summary topic agent1 agent2 agent2 agent1 facts",
	}}
	here, atHome := w.playHere(played)
	there, byWorkers := w.playThere(played)
	if diff := cmp.Diff(atHome, byWorkers); diff != "" {
		t.Errorf("the transcripts (-here +on Temporal):\n%s", diff)
	}
	for _, r := range []*report.Result{&here, &there} {
		r.Session.UsageTotal = budget.Usage{} // there the facts may be in it already
	}
	if diff := cmp.Diff(timelessResult(here), timelessResult(there)); diff != "" || here.Status != "completed" {
		t.Errorf("%s, the results (-here +on Temporal):\n%s", here.Status, diff)
	}
	local, err := sqlite.Open(t.Context(), filepath.Join(w.dir, "state", "sessions.db"))
	ok(t, err)
	want, got := knownOf(t, local), knownOf(t, w.store())
	ok(t, local.Close())
	if diff := cmp.Diff(want, got); diff != "" || len(want.Facts) != 1 || len(want.Summary) == 0 {
		t.Errorf("%d facts, the summary %q; what is known (-here +on Temporal):\n%s", len(want.Facts), want.Summary, diff)
	}
}

// known is what is kept of the session beside its turns.
type known struct {
	Topic, Summary string
	Facts          []string
	Usage          budget.Usage
}

// knower is a store that knows it.
type knower interface {
	Session(ctx context.Context, id string) (sessions.Session, error)
	Facts(ctx context.Context, user string) ([]sessions.Fact, error)
}

func knownOf(t testing.TB, store knower) (k known) {
	t.Helper()
	session, err := store.Session(t.Context(), "s")
	ok(t, err)
	var state topic.State
	ok(t, json.Unmarshal([]byte(session.Metadata["massgen:topic"]), &state))
	k.Topic, k.Summary, k.Usage = state.Current.String(), session.Metadata[coordinator.MetaSummary], session.Usage
	facts, err := store.Facts(t.Context(), "")
	ok(t, err)
	for _, f := range facts {
		k.Facts = append(k.Facts, f.Text)
	}
	return k
}
