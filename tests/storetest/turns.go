package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

func texts(w world) {
	w.begin("s", "q")
	data := []byte("hello")
	ref, err := w.store.Put(w.Context(), data)
	w.ok(err)
	data[0] = 'j' // the store keeps its own copy
	w.same("the same text again", ref, w.put("hello"))
	w.same("its bytes", 5, ref.Bytes)
	for _, text := range []string{"hello", "", "a\x00b\xff", "\n"} {
		ref := w.put(text)
		for _, when := range []string{"before", "after"} {
			got, err := w.store.Get(w.Context(), ref)
			w.ok(err)
			w.same("a text "+when+" an event names it", text, string(got))
			w.event("s", 1, text)
		}
	}
	for _, missing := range []blob.Ref{{SHA256: "0123456789abcdef", Bytes: 1}, {SHA256: ref.SHA256, Bytes: 4}, {}, {SHA256: "no hash"}} {
		_, err := w.store.Get(w.Context(), missing)
		w.says(err, fmt.Sprintf("no text is stored under %.12s", missing.SHA256))
	}
}

func oneTurn(w world) {
	before := time.Now().Add(-time.Millisecond)
	_, err := w.store.Session(w.Context(), "s")
	w.is(err, sessions.ErrNoSession)
	w.same("the first turn", sessions.Begun{Turn: 1}, w.begin("s", "Why?\nTell me."))
	_, err = w.store.Session(w.Context(), "s")
	w.is(err, sessions.ErrNoSession) // nothing has happened yet
	event := w.event("s", 1, "one")
	turns, err := w.store.Turns(w.Context(), "s", 0)
	w.ok(err)
	if len(turns) != 1 || turns[0].Status != sessions.Running || turns[0].Question != "Why?\nTell me." || !turns[0].Ended.IsZero() {
		w.Errorf("a running turn: %+v", turns)
	}
	none, err := w.store.Interrupted(w.Context(), "s")
	w.ok(err)
	w.same("interrupted turns while one runs", 0, len(none))
	w.same("the history while the first turn runs", []string{}, w.history("s"))
	w.ok(w.store.End(w.Context(), "s", 1, answered("Because.")))

	turns, err = w.store.Turns(w.Context(), "s", 0)
	w.ok(err)
	end := answered("Because.")
	want := sessions.Turn{
		Number: 1, Question: "Why?\nTell me.", Answer: "Because.", Winner: "agent1", Status: kernel.Completed,
		Started: turns[0].Started, Ended: turns[0].Ended, Usage: end.Usage, MessageCount: 2, Link: turns[0].Link,
	}
	w.same("the turn", []sessions.Turn{want}, turns)
	s := w.session("s")
	w.same("the session", sessions.Session{
		ID: "s", Title: "Why?", Created: s.Created, Updated: s.Updated, Turns: 1, Messages: 2, Usage: end.Usage,
	}, s)
	for what, at := range map[string]time.Time{"started": want.Started, "ended": want.Ended, "created": s.Created, "updated": s.Updated} {
		if at.Before(before) || at.After(time.Now()) || at.Location() != time.UTC {
			w.Errorf("%s: %v", what, at)
		}
	}
	journal, err := w.store.Journal(w.Context(), "s", 1, 0)
	w.ok(err)
	w.same("the journal", [][]byte{event}, journal)
	w.same("the second turn", sessions.Begun{Turn: 2, History: want.Link}, w.begin("s", "And?"))
}

func committed(w world) {
	w.begin("s", "q")
	w.event("s", 1, "one")
	w.ok(w.store.Commit(w.Context(), "s", 1, answered("a")))
	w.same("the history with a committed turn", []string{"q -> a"}, w.history("s"))
	_, err := w.store.Begin(w.Context(), "s", "next")
	w.is(err, sessions.ErrBusy)
	w.says(w.store.Commit(w.Context(), "s", 1, answered("another")), "is not running")
	w.event("s", 1, "two")
	journal, err := w.store.Journal(w.Context(), "s", 1, 0)
	w.ok(err)
	w.same("events of a committed turn", 2, len(journal))

	more := answered("not this")
	more.Question = "nor this"
	w.ok(w.store.End(w.Context(), "s", 1, more))
	turns, err := w.store.Turns(w.Context(), "s", 0)
	w.ok(err)
	w.same("the answer of a committed turn", "a", turns[0].Answer)
	w.same("its question", "q", turns[0].Question)
	w.same("its usage", more.Usage.Plus(more.Usage), turns[0].Usage)
	w.same("that of its session", turns[0].Usage, w.session("s").Usage)
	w.same("its messages", 2, w.session("s").Messages)

	w.begin("s", "left")
	w.event("s", 2, "three")
	w.ok(w.store.Commit(w.Context(), "s", 2, answered("b")))
	w.ok(w.store.Leave(w.Context(), "s", 2))
	none, err := w.store.Interrupted(w.Context(), "s")
	w.ok(err)
	w.same("interrupted turns after a committed one was left", 0, len(none))
	w.same("the number of the turn after it", 3, w.begin("s", "third").Turn)

	w.begin("t", "q")
	w.event("t", 1, "one")
	if err := w.store.Commit(w.Context(), "t", 1, sessions.Ended{Status: sessions.Running}); err == nil {
		w.Error("a turn that runs on was committed")
	}
	w.begin("t", "q") // the session was let go of

	asked := answered("b")
	asked.Question = "what was asked in the end"
	w.begin("u", "yes")
	w.event("u", 1, "one")
	w.ok(w.store.End(w.Context(), "u", 1, asked))
	w.same("the history with another question", []string{asked.Question + " -> b"}, w.history("u"))
	hits, err := w.store.Search(w.Context(), "asked", sessions.Filter{})
	w.ok(err)
	w.same("turns and titles that are found by the other question", 2, len(hits))
}

func numbers(w world) {
	for range 2 { // nothing is journaled: the number is free again
		w.same("the first turn's number", 1, w.begin("s", "q").Turn)
		w.ok(w.store.End(w.Context(), "s", 1, sessions.Ended{Status: kernel.AllFailed}))
	}
	_, err := w.store.Session(w.Context(), "s")
	w.is(err, sessions.ErrNoSession)
	w.same("a turn that fails", 1, w.fail("s", "q"))
	w.same("the next one", 2, w.ask("s", "q", "a"))
	w.same("another session's", 1, w.ask("other", "q", "a"))
	w.same("a turn without a journal that has an answer", 3, w.begin("s", "q").Turn)
	w.ok(w.store.End(w.Context(), "s", 3, answered("a")))
	w.same("the one after it", 4, w.begin("s", "q").Turn)
	w.same("the last turn", 3, w.session("s").Turns)
}

func busy(w world) {
	w.ask("s", "q", "a")
	w.begin("s", "one")
	ctx := w.Context()
	_, err := w.store.Begin(ctx, "s", "two")
	w.is(err, sessions.ErrBusy)
	_, err = w.store.Resume(ctx, "s")
	w.is(err, sessions.ErrBusy)
	w.is(w.store.Delete(ctx, "s"), sessions.ErrBusy)
	_, err = w.store.Branch(ctx, "s", 1, "s")
	w.is(err, sessions.ErrBusy)
	w.ok(w.store.SetTitle(ctx, "s", "a title")) // which no turn is in the way of
	_, err = w.store.Branch(ctx, "s", 1, "branch")
	w.ok(err)
	w.begin("other", "q")
	w.ok(w.store.End(ctx, "s", 2, sessions.Ended{Status: kernel.AllFailed}))
	w.begin("s", "three")
}

func journalOrder(w world) {
	for _, id := range []string{"a", "b"} {
		w.begin(id, "q")
	}
	for i := range 50 {
		for _, id := range []string{"a", "b"} {
			w.ok(w.store.Append(w.Context(), id, 1, fmt.Appendf(nil, "%s%d", id, i)))
		}
	}
	for _, id := range []string{"a", "b"} {
		journal, err := w.store.Journal(w.Context(), id, 1, 0)
		w.ok(err)
		for i, event := range journal {
			w.same("an event", fmt.Sprintf("%s%d", id, i), string(event))
		}
		w.same("events", 50, len(journal))
	}
	for from, want := range map[int]int{1: 49, 49: 1, 50: 0, 51: 0} {
		journal, err := w.store.Journal(w.Context(), "b", 1, from)
		w.ok(err)
		w.same(fmt.Sprintf("events from %d on", from), want, len(journal))
		if want > 0 {
			w.same("the first of them", fmt.Sprintf("b%d", from), string(journal[0]))
		}
	}
	for _, turn := range []int{0, 2, -1} {
		journal, err := w.store.Journal(w.Context(), "a", turn, 0)
		w.ok(err)
		w.same("events of a turn that is not there", 0, len(journal))
	}
	journal, err := w.store.Journal(w.Context(), "nobody", 1, 0)
	w.ok(err)
	w.same("events of a session that is not there", 0, len(journal))
}

func eventsNameTexts(w world) {
	w.begin("s", "q")
	missing := sessions.RefOf([]byte("never put"))
	data, err := json.Marshal(map[string]any{"text": missing})
	w.ok(err)
	w.says(w.store.Append(w.Context(), "s", 1, data), "no text is stored under "+missing.SHA256[:12])
	_, err = w.store.Session(w.Context(), "s")
	w.is(err, sessions.ErrNoSession)
	quoted, err := json.Marshal(map[string]string{"reason": string(data)}) // what somebody said is no reference
	w.ok(err)
	w.ok(w.store.Append(w.Context(), "s", 1, quoted))
	zero, err := json.Marshal(blob.Ref{})
	w.ok(err)
	w.ok(w.store.Append(w.Context(), "s", 1, zero))

	named, unnamed := w.put("named"), w.put("unnamed")
	w.event("s", 1, "named")
	w.ok(w.store.End(w.Context(), "s", 1, answered("a")))
	w.same("the text that an event names is there", true, w.isThere(named))
	w.same("the text that nothing names is there", false, w.isThere(unnamed))
	w.same("the question is there", true, w.isThere(sessions.RefOf([]byte("q"))))
}

func noAnswer(w world) {
	w.ask("s", "one", "first")
	w.fail("s", "two")
	b := w.begin("s", "three")
	w.event("s", b.Turn)
	cut := sessions.Ended{Status: kernel.Cut, Usage: budget.Usage{Calls: 1, UnknownCalls: 1}}
	w.ok(w.store.End(w.Context(), "s", b.Turn, cut))
	w.ask("s", "four", "fourth")
	w.same("the history", []string{"one -> first", "four -> fourth"}, w.history("s"))
	turns, err := w.store.Turns(w.Context(), "s", 3)
	w.ok(err)
	if len(turns) != 3 || turns[0].Status != kernel.AllFailed || turns[1].Status != kernel.Cut || turns[1].Question != "three" ||
		turns[1].Usage.UnknownCalls != 1 || turns[1].Ended.IsZero() || turns[1].Link != (blob.Ref{}) || turns[2].Answer != "fourth" {
		w.Errorf("the last three turns: %+v", turns)
	}
	s := w.session("s")
	w.same("turns and messages", []int{4, 4}, []int{s.Turns, s.Messages})
	w.same("calls, also of turns without an answer", 5, s.Usage.Calls)
	none, err := w.store.Interrupted(w.Context(), "s")
	w.ok(err)
	w.same("interrupted turns", 0, len(none))
}

// endsWith has turns whose last events and outcome are stored in one transaction.
func endsWith(w world) {
	endWith := func(turn int, answer, text string) error {
		return w.store.EndWith(w.Context(), "s", turn, answered(answer), naming(w.put(text)))
	}
	events := func(turn int) int {
		journal, err := w.store.Journal(w.Context(), "s", turn, 0)
		w.ok(err)
		return len(journal)
	}
	w.begin("s", "q")
	w.event("s", 1, "one")
	w.ok(endWith(1, "a", "two"))
	w.same("the history", []string{"q -> a"}, w.history("s"))
	w.same("its events", 2, events(1))
	w.says(endWith(1, "b", "three"), "is not running")

	w.begin("s", "p")
	w.event("s", 2, "one")
	w.says(endWith(2, "\xff", "four"), "not valid UTF-8")
	w.same("events after a refusal", 1, events(2))
	w.event("s", 2, "five") // the session is still held
	w.ok(w.store.Commit(w.Context(), "s", 2, answered("b")))
	w.says(endWith(2, "c", "six"), "is not running")
	w.ok(w.store.End(w.Context(), "s", 2, answered("not this")))
	w.same("events of a committed turn", 2, events(2))
	w.same("the next turn", 3, w.begin("s", "next").Turn)
}

// naming is an event that names a text.
func naming(ref blob.Ref) []byte {
	return fmt.Appendf(nil, `{"text":{"sha256":"%s","bytes":%d}}`, ref.SHA256, ref.Bytes)
}

func chain(w world) {
	var heads []blob.Ref
	want := []string{}
	for i := range 5 {
		heads = append(heads, w.begin("s", "q").History)
		w.ok(w.store.End(w.Context(), "s", i+1, sessions.Ended{Status: kernel.AllFailed}))
		w.same("the chain", want, w.chained(heads[i]))
		w.ask("s", fmt.Sprint("q", i), fmt.Sprint("a", i))
		want = append(want, fmt.Sprintf("q%d -> a%d", i, i))
	}
	for i, head := range heads { // an old history is the same, whatever came later
		w.same("an old chain", want[:i], w.chained(head))
	}
	var last []int
	for link, err := range sessions.Chain(w.Context(), w.store, heads[4]) {
		w.ok(err)
		if last = append(last, link.Turn); len(last) == 2 {
			break
		}
	}
	w.same("the last two turns", []int{4, 3}, last)
}

func messages(w world) {
	w.begin("s", "q")
	call := w.put("the call of a tool")
	w.put("a text of nobody")
	data, err := json.Marshal([]any{call, sessions.RefOf([]byte("never put"))})
	w.ok(err)
	list := w.put(string(data))
	e := answered("a")
	e.Messages, e.MessageCount = list, 4
	w.ok(w.store.End(w.Context(), "s", 1, e))
	turns, err := w.store.Turns(w.Context(), "s", 0)
	w.ok(err)
	w.same("the list", list, turns[0].Messages)
	w.same("messages", []int{4, 4}, []int{turns[0].MessageCount, w.session("s").Messages})
	for link, err := range sessions.Chain(w.Context(), w.store, turns[0].Link) {
		w.ok(err)
		w.same("the link's list", list, link.Messages)
	}
	w.same("the list and what it names are there", true, w.isThere(list) && w.isThere(call))
	_, err = w.store.Branch(w.Context(), "s", 1, "branch")
	w.ok(err)
	w.ok(w.store.Delete(w.Context(), "s"))
	w.same("they are there for the branch", true, w.isThere(list) && w.isThere(call))
	w.ok(w.store.Delete(w.Context(), "branch"))
	w.same("one of them is there for nobody", false, w.isThere(list) || w.isThere(call))
}

func usage(w world) {
	known := func(calls int, usd float64) budget.Usage {
		return budget.Usage{Calls: calls, InputTokens: 10, OutputTokens: 3, CachedInputTokens: 5, ReasoningTokens: 2, CostUSD: &usd}
	}
	run := func(id string, u budget.Usage) {
		w.Helper()
		e := answered("a")
		e.Usage = u
		w.ok(w.store.End(w.Context(), id, w.begin(id, "q").Turn, e))
	}
	run("known", known(1, 0.5))
	run("known", budget.Usage{})
	run("known", known(2, 0.25))
	want := known(3, 0.75)
	want.InputTokens, want.OutputTokens, want.CachedInputTokens, want.ReasoningTokens = 20, 6, 10, 4
	w.same("the sum of known costs", want, w.session("known").Usage)
	run("none", budget.Usage{})
	w.same("no calls", budget.Usage{}, w.session("none").Usage)
	run("unknown", known(1, 0.5))
	run("unknown", budget.Usage{Calls: 1, UnknownCalls: 1})
	run("unknown", known(1, 0.5))
	w.same("a sum with an unknown cost", budget.Usage{Calls: 3, InputTokens: 20, OutputTokens: 6, CachedInputTokens: 10, ReasoningTokens: 4, UnknownCalls: 1},
		w.session("unknown").Usage)
	w.ok(w.store.SetMetadata(w.Context(), "known", map[string]string{"team": "x"}))
	some, err := w.store.List(w.Context(), sessions.Filter{Metadata: map[string]string{"team": "x"}})
	w.ok(err)
	w.same("the sessions of a team", 1, len(some))
	w.same("the usage of the team's session", want, some[0].Usage)
}
