package sidecalls

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

func keeper(t *testing.T, change func(*Options)) *Keeper {
	t.Helper()
	same := func(text string) string { return text }
	o := Options{Store: store.InMemory("", same).Sessions, Warn: func(text string) { t.Error(text) }}
	if change != nil {
		change(&o)
	}
	return New(providers.Settings{Config: configs.Default(), Secrets: &configs.Secrets{}, Log: slog.New(slog.DiscardHandler)}, o)
}

// answer has a session's turn answered.
func answer(t *testing.T, k *Keeper, id string) {
	t.Helper()
	begun, err := k.Store.Begin(t.Context(), id, "?")
	if err == nil {
		err = k.Store.End(t.Context(), id, begun.Turn, sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: "!"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func topicOf(t *testing.T, k *Keeper, id string) string {
	t.Helper()
	state, err := k.Topic(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if state.Current == nil {
		return ""
	}
	return state.Current.Name
}

func set(t *testing.T, k *Keeper, id, name string) {
	t.Helper()
	if err := k.SetTopic(t.Context(), id, topic.State{Current: &topic.Topic{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// TestEachSessionHasItsTopic, kept here until the session is in the store, and there from then
// on.
func TestEachSessionHasItsTopic(t *testing.T) {
	k := keeper(t, nil)
	other := keeper(t, func(s *Options) { s.Store = k.Store })
	set(t, k, "a", "Tyburn")
	set(t, k, "b", "Newgate")
	if a, b, c := topicOf(t, k, "a"), topicOf(t, k, "b"), topicOf(t, k, "c"); a != "Tyburn" || b != "Newgate" || c != "" {
		t.Errorf("topics %q, %q and %q", a, b, c)
	}
	answer(t, k, "a")
	answer(t, k, "b")
	if a, b := topicOf(t, k, "a"), topicOf(t, k, "b"); a != "Tyburn" || b != "Newgate" {
		t.Errorf("after the sessions' first turns they are about %q and %q", a, b)
	}
	set(t, k, "a", "Wapping")
	set(t, k, "b", "Newgate")
	set(t, other, "a", "Marshalsea")
	if a := topicOf(t, k, "a"); a != "Marshalsea" || len(k.unkept) > 0 {
		t.Errorf("topic %q is not that of the other process; kept here are %v", a, k.unkept)
	}
}

func TestConfirmedQuestionIsOfItsSession(t *testing.T) {
	k := keeper(t, nil)
	k.Confirm("a", "And now?")
	for _, c := range []struct {
		session, question string
		asks              bool
	}{{"b", "And now?", true}, {"a", "And now?", false}, {"a", "And now?", true}} {
		messages, _, err := k.askTopic(t.Context(), coordinator.SidecallTurn{Session: c.session, Question: c.question})
		if err != nil || (len(messages) > 0) != c.asks {
			t.Errorf("%s: a call of %d messages, %v", c.session, len(messages), err)
		}
	}
}

// TestWhoKeepsAndWhoTells: a worker stores the results of calls, a watching process reports them, and a
// process that plays its own turns does both.
func TestWhoKeepsAndWhoTells(t *testing.T) {
	for name, c := range map[string]struct{ elsewhere, forOthers bool }{
		"its own turns": {false, false}, "a worker": {false, true}, "a client": {true, false},
	} {
		var told []string
		k := keeper(t, func(s *Options) {
			s.Elsewhere, s.ForOthers = c.elsewhere, c.forOthers
			s.Remembered = func(facts []string) { told = append(told, facts...) }
		})
		if err := keeping(k, k.storeFacts, k.showFacts)(t.Context(), "u1 in Dan|app_u1", []byte(`["likes the sun"]`)); err != nil {
			t.Fatal(err)
		}
		kept, err := k.facts(t.Context(), "u1 in Dan|app_u1")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"likes the sun"}
		if slices.Equal(kept, want) == c.elsewhere || slices.Equal(told, want) == c.forOthers {
			t.Errorf("%s: kept %q, told %q", name, kept, told)
		}
	}
}

// TestTopicOfATurnPlayedElsewhere is kept by who watches it, until the session is in the
// store, and by no worker.
func TestTopicOfATurnPlayedElsewhere(t *testing.T) {
	worker := keeper(t, func(s *Options) { s.ForOthers = true })
	client := keeper(t, func(s *Options) { s.Store, s.Elsewhere = worker.Store, true })
	for _, k := range []*Keeper{worker, client} {
		if err := keeping(k, k.storeTopic, k.showTopic)(t.Context(), "a", []byte(`{"current_topic":{"name":"Tyburn"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	if len(worker.unkept) > 0 || topicOf(t, client, "a") != "Tyburn" {
		t.Errorf("the worker keeps %v, the client is told %q", worker.unkept, topicOf(t, client, "a"))
	}
}

func TestPendingTopicIsLogged(t *testing.T) {
	var logged bytes.Buffer
	k := keeper(t, nil)
	k.settings.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	state := topic.State{Current: &topic.Topic{Name: "Tyburn"}, Pending: &topic.Pending{Topic: topic.Topic{Name: "Newgate"}, Question: "And Newgate?"}}
	if err := k.SetTopic(t.Context(), "a", state); err != nil {
		t.Fatal(err)
	}
	answer(t, k, "a")
	if _, err := k.sections(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if text := logged.String(); !strings.Contains(text, `topic="Currently discussing: Tyburn"`) || !strings.Contains(text, `pending="Currently discussing: Newgate"`) {
		t.Errorf("the log has no pending topic: %s", text)
	}
}
