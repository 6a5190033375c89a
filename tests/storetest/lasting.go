package storetest

import (
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// lasts reads a store that nobody has closed, after each step.
func lasts(w world, reopen func() world) {
	w.ask("s", "one", "first")
	w.same("the history", []string{"one -> first"}, reopen().history("s"))
	w.ask("s", "two", "second")
	event := w.event("t", w.begin("t", "q").Turn, "named")
	w.put("never named")
	_, err := w.store.AddFact(w.Context(), "u", "a fact")
	w.ok(err)
	again := reopen()
	w.same("the history then", []string{"one -> first", "two -> second"}, again.history("s"))
	w.same("the session", w.session("s"), again.session("s"))
	journal, err := again.store.Journal(w.Context(), "t", 1, 0)
	w.ok(err)
	w.same("the journal of a turn that runs", [][]byte{event}, journal)
	w.same("a text that an event names", true, again.isThere(sessions.RefOf([]byte("named"))))
	facts, err := again.store.Facts(w.Context(), "u")
	w.ok(err)
	w.same("facts", 1, len(facts))
	before, err := w.store.Turns(w.Context(), "s", 0)
	w.ok(err)
	w.same("the next turn", sessions.Begun{Turn: 3, History: before[1].Link}, again.begin("s", "three"))
	again.event("s", 3, "never named")
	w.ok(again.store.End(w.Context(), "s", 3, answered("third")))
	w.same("the history as the first store reads it", again.history("s"), w.history("s"))
	w.ok(again.store.Check(w.Context()))
}

// interrupted has a turn that nobody is at work on any more, and goes on with it.
func interrupted(w world, reopen func() world) {
	ctx := w.Context()
	w.ask("s", "one", "first")
	w.begin("s", "two\x00words")
	first := w.event("s", 2, "x")
	w.interrupted()
	reopen().interrupted()
	w.crash()
	w = reopen()
	w.interrupted("two\x00words")
	hits, err := w.store.Search(ctx, "two", sessions.Filter{})
	w.ok(err)
	w.same("hits", 0, len(hits))

	b, err := w.store.Resume(ctx, "s")
	w.ok(err)
	w.same("the turn", 2, b.Turn)
	w.same("its history", []string{"one -> first"}, w.chained(b.History))
	w.interrupted()
	reopen().interrupted()
	second := w.event("s", 2, "y")
	w.crash()
	w = reopen()
	w.interrupted("two\x00words")
	_, err = w.store.Resume(ctx, "s")
	w.ok(err)
	w.ok(w.store.Leave(ctx, "s", 2))
	w.interrupted("two\x00words")
	if err := w.store.Leave(ctx, "s", 2); err == nil {
		w.Error("a turn that nobody holds was let go of")
	}
	_, err = w.store.Resume(ctx, "s")
	w.ok(err)
	w.ok(w.store.End(ctx, "s", 2, answered("second")))
	w.interrupted()
	journal, err := w.store.Journal(ctx, "s", 2, 0)
	w.ok(err)
	w.same("its journal", [][]byte{first, second}, journal)
	w.same("the history", []string{"one -> first", "two\x00words -> second"}, w.history("s"))
	w.same("the chain", w.history("s"), w.chained(w.begin("s", "three").History))
	w.ok(w.store.Check(ctx))
}

// givenUp has a turn that nobody is at work on any more, and asks something else.
func givenUp(w world, reopen func() world) {
	cost := 0.25
	ctx, had := w.Context(), budget.Usage{Calls: 9, InputTokens: 30, OutputTokens: 4, CachedInputTokens: 20, ReasoningTokens: 3, UnknownCalls: 2, CostUSD: &cost}
	w.begin("s", "one")
	w.event("s", 1, "x")
	w.crash()
	w = reopen()
	w.same("the turn after it", sessions.Begun{Turn: 2, Interrupted: 1}, w.begin("s", "two"))
	w.ok(w.store.End(ctx, "s", 2, sessions.Ended{Status: kernel.AllFailed})) // nothing was journaled
	w.interrupted("one")
	w.begin("s", "two")
	w.ok(w.store.RecordCut(ctx, "s", 2, budget.Usage{Calls: 5}))
	w.ok(w.store.RecordCut(ctx, "s", 2, had))
	w.interrupted()
	w.same("calls before the first event", 0, w.session("s").Usage.Calls)
	w.event("s", 2)
	w.ok(w.store.RecordCut(ctx, "s", 2, budget.Usage{Calls: 7}))
	w.event("s", 2)
	w.interrupted()
	w.ok(w.store.End(ctx, "s", 2, answered("second")))
	w.interrupted()
	turns, err := w.store.Turns(ctx, "s", 0)
	w.ok(err)
	if t := turns[0]; t.Status != kernel.Cut || !t.Ended.IsZero() || t.Question != "one" {
		w.Errorf("the turn that was given up: %+v", t)
	}
	w.same("the usage of the turn that was given up", had, turns[0].Usage)
	w.same("the usage of the session", had.Plus(turns[1].Usage), w.session("s").Usage)
	if err := w.store.RecordCut(ctx, "s", 2, had); err == nil {
		w.Error("something was noted for a turn that is over")
	}
	hits, err := w.store.Search(ctx, "one", sessions.Filter{})
	w.ok(err)
	if len(hits) != 1 || hits[0].Turn != 1 {
		w.Errorf("hits in the turn that was given up: %+v", hits)
	}
	w.same("the history", []string{"two -> second"}, w.history("s"))

	w.begin("t", "one")
	w.event("t", 1)
	w.ok(w.store.Leave(ctx, "t", 1))
	w.begin("t", "two")
	w.ok(w.store.RecordCut(ctx, "t", 2, had))
	w.ok(w.store.Leave(ctx, "t", 2))
	w.begin("t", "three")
	w.event("t", 2)
	w.same("calls that were noted for a turn that was left", 0, w.session("t").Usage.Calls)
	w.ok(w.store.Leave(ctx, "t", 2))
	w.ok(w.store.Check(ctx))
}

// interrupted wants the questions of the interrupted turns of session s.
func (w world) interrupted(questions ...string) {
	w.Helper()
	turns, err := w.store.Interrupted(w.Context(), "s")
	w.ok(err)
	var got []string
	for _, t := range turns {
		got = append(got, t.Question)
	}
	w.same("interrupted turns", questions, got)
}

// crash lets go of what a store holds, as the end of its process does.
func (w world) crash() {
	w.Helper()
	closer, ok := w.keeper.(interface{ Close() error })
	if !ok {
		w.Fatal("a store that lasts must close")
	}
	w.ok(closer.Close())
}

// busyElsewhere has two stores in one place, as two processes have.
func busyElsewhere(w world, reopen func() world) {
	ctx := w.Context()
	other := reopen()
	w.ask("s", "one", "first")
	w.begin("s", "two")
	for range 3 {
		_, err := other.store.Begin(ctx, "s", "three")
		w.is(err, sessions.ErrBusy)
		w.is(other.store.Delete(ctx, "s"), sessions.ErrBusy)
	}
	other.begin("t", "q")
	_, err := w.store.Begin(ctx, "t", "q")
	w.is(err, sessions.ErrBusy)
	list, err := other.store.List(ctx, sessions.Filter{})
	w.ok(err)
	w.same("the sessions", []string{"s"}, ids(list))
	w.ok(w.store.End(ctx, "s", 2, answered("second")))
	b := other.begin("s", "three")
	w.same("the chain", []string{"one -> first", "two -> second"}, other.chained(b.History))
	w.ok(other.store.End(ctx, "s", 3, answered("third")))
	w.same("the history", other.history("s"), w.history("s"))
	w.ok(w.store.Delete(ctx, "s"))
	w.same("the history in the other store", 0, len(other.history("s")))
}
