package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// world is a store under test.
type world struct {
	*testing.T
	store  *sessions.Store
	keeper sessions.Keeper
}

func worldOf(t *testing.T, k sessions.Keeper) world { return world{t, storeOf(k), k} }

func storeOf(k sessions.Keeper) *sessions.Store {
	return k.Masked(func(text string) string { return text })
}

func (w world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// is wants an error that is, or contains, another.
func (w world) is(got, want error) {
	w.Helper()
	if !errors.Is(got, want) {
		w.Errorf("error %v, want %v", got, want)
	}
}

// says wants an error with words in it, on one line.
func (w world) says(err error, words string) {
	w.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		w.Errorf("error %v, want one line with %q", err, words)
	}
}

func (w world) same(what string, want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w world) put(text string) blob.Ref {
	w.Helper()
	ref, err := w.store.Put(w.Context(), []byte(text))
	w.ok(err)
	return ref
}

// isThere reports whether the store has a text.
func (w world) isThere(ref blob.Ref) bool {
	_, err := w.store.Get(w.Context(), ref)
	return err == nil
}

func (w world) begin(id, question string) sessions.Begun {
	w.Helper()
	b, err := w.store.Begin(w.Context(), id, question)
	w.ok(err)
	return b
}

// event journals an event that names texts.
func (w world) event(id string, turn int, texts ...string) []byte {
	w.Helper()
	refs := []blob.Ref{}
	for _, text := range texts {
		refs = append(refs, w.put(text))
	}
	data, err := json.Marshal(map[string]any{"type": "test", "texts": refs})
	w.ok(err)
	w.ok(w.store.Append(w.Context(), id, turn, data))
	return data
}

// answered is what a turn comes to whose answer wins.
func answered(answer string) sessions.Ended {
	cost := 0.25
	return sessions.Ended{
		Status: kernel.Completed, Winner: "agent1", Answer: answer,
		Usage: budget.Usage{Calls: 2, InputTokens: 30, OutputTokens: 4, CachedInputTokens: 10, ReasoningTokens: 3, CostUSD: &cost},
	}
}

// ask runs a turn to its answer and returns its number.
func (w world) ask(id, question, answer string) int {
	w.Helper()
	b := w.begin(id, question)
	w.event(id, b.Turn, "a text of "+question)
	w.ok(w.store.End(w.Context(), id, b.Turn, answered(answer)))
	return b.Turn
}

// fail runs a turn that comes to no answer and returns its number.
func (w world) fail(id, question string) int {
	w.Helper()
	b := w.begin(id, question)
	w.event(id, b.Turn)
	w.ok(w.store.End(w.Context(), id, b.Turn, sessions.Ended{Status: kernel.AllFailed}))
	return b.Turn
}

func (w world) session(id string) sessions.Session {
	w.Helper()
	s, err := w.store.Session(w.Context(), id)
	w.ok(err)
	return s
}

// history returns a session's history as its turns say it.
func (w world) history(id string) []string {
	w.Helper()
	turns, err := w.store.History(w.Context(), id)
	w.ok(err)
	said := []string{}
	for _, t := range turns {
		said = append(said, t.Question+" -> "+t.Answer)
	}
	return said
}

// chained returns the history from its newest link, as the chain says it.
func (w world) chained(head blob.Ref) []string {
	w.Helper()
	said := []string{}
	for link, err := range sessions.Chain(w.Context(), w.store, head) {
		w.ok(err)
		question, err := w.store.Get(w.Context(), link.Question)
		w.ok(err)
		answer, err := w.store.Get(w.Context(), link.Answer)
		w.ok(err)
		said = append(said, string(question)+" -> "+string(answer))
	}
	slices.Reverse(said)
	return said
}

func ids(list []sessions.Session) []string {
	names := []string{}
	for _, s := range list {
		names = append(names, s.ID)
	}
	return names
}
