package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// later waits until stores tell the time apart from now.
func later() {
	for start := time.Now().UnixMilli(); time.Now().UnixMilli() == start; {
		time.Sleep(time.Millisecond / 4)
	}
}

func list(w world) {
	ctx := w.Context()
	none, err := w.store.List(ctx, sessions.Filter{})
	w.ok(err)
	w.same("sessions of an empty store", 0, len(none))
	for _, id := range []string{"Dan|app_1|role:cfo", "Sarah|app_2|role:cfo", "plain"} {
		w.ask(id, "q", "a")
		later()
	}
	w.begin("plain", "q")
	w.event("plain", 2)
	later()
	w.ask("Dan|app_1|role:cfo", "q", "a")
	for _, c := range []struct {
		filter sessions.Filter
		want   []string
	}{
		{sessions.Filter{}, []string{"Dan|app_1|role:cfo", "plain", "Sarah|app_2|role:cfo"}},
		{sessions.Filter{Unended: true}, []string{"plain"}},
		{sessions.Filter{Unended: true, Metadata: map[string]string{"role": "cfo"}}, []string{}},
		{sessions.Filter{Limit: 1}, []string{"Dan|app_1|role:cfo"}},
		{sessions.Filter{Limit: 9}, []string{"Dan|app_1|role:cfo", "plain", "Sarah|app_2|role:cfo"}},
		{sessions.Filter{Metadata: map[string]string{sessions.MetaUser: "2"}}, []string{"Sarah|app_2|role:cfo"}},
		{sessions.Filter{Metadata: map[string]string{"role": "cfo"}, Limit: 1}, []string{"Dan|app_1|role:cfo"}},
		{sessions.Filter{Metadata: map[string]string{"role": "cfo", sessions.MetaApp: "app"}}, []string{"Dan|app_1|role:cfo", "Sarah|app_2|role:cfo"}},
		{sessions.Filter{Metadata: map[string]string{"role": "' OR 1 --"}}, []string{}},
	} {
		got, err := w.store.List(ctx, c.filter)
		w.ok(err)
		w.same("the list", c.want, ids(got))
		for _, s := range got {
			w.same("one of the list", w.session(s.ID), s)
		}
	}
}

func titles(w world) {
	ctx := w.Context()
	w.fail("Dan|fractional_abc123|role:cfo", "no title yet")
	id := "Dan|fractional_abc123|role:cfo"
	w.same("the title of a session without an answer", "", w.session(id).Title)
	w.ask(id, "\n  the first\tanswered question \n more", "a")
	w.ask(id, "another", "a")
	before := w.session(id)
	w.same("the title", "the first answered question", before.Title)
	w.same("what the id says", map[string]string{"name": "Dan", "app": "fractional", "user": "abc123", "role": "cfo"}, before.Metadata)
	later()
	w.ok(w.store.SetTitle(ctx, id, `o'clock "x"`))
	w.ok(w.store.SetMetadata(ctx, id, map[string]string{"role": "", "topic": "a\nb", "name": "D."}))
	after := w.session(id)
	w.same("the new title", `o'clock "x"`, after.Title)
	w.same("the new metadata", map[string]string{"name": "D.", "app": "fractional", "user": "abc123", "topic": "a\nb"}, after.Metadata)
	w.same("when it was used last", before.Updated, after.Updated)
	w.ask(id, "a third", "a")
	w.same("the title that was set", `o'clock "x"`, w.session(id).Title)
	w.ok(w.store.SetMetadata(ctx, id, map[string]string{"name": "", "app": "", "user": "", "topic": ""}))
	w.same("no metadata", 0, len(w.session(id).Metadata))
}

// firstMetadata is set with a turn's first events, and with no others.
func firstMetadata(w world) {
	const id = "|ann"
	with := func(session string, metadata map[string]string) context.Context {
		return sessions.WithMetadata(w.Context(), session, metadata)
	}
	begin := func(metadata map[string]string) (turn int) {
		b := w.begin(id, "q")
		w.ok(w.store.Append(with(id, metadata), id, b.Turn, []byte(`{}`)))
		return b.Turn
	}
	turn := begin(map[string]string{"panel": "p"})
	w.same("a new session's metadata", map[string]string{"user": "ann", "panel": "p"}, w.session(id).Metadata)
	w.ok(w.store.Append(with(id, map[string]string{"panel": "later", "k\x00": "invalid"}), id, turn, []byte(`{}`)))
	w.ok(w.store.End(w.Context(), id, turn, answered("a")))
	w.same("the metadata after a later event", "p", w.session(id).Metadata["panel"])
	turn = begin(map[string]string{"panel": "", "team": "x"})
	w.same("the metadata of the next turn", map[string]string{"user": "ann", "team": "x"}, w.session(id).Metadata)
	w.ok(w.store.Leave(w.Context(), id, turn))

	b := w.begin("other", "q")
	w.ok(w.store.Append(with(id, map[string]string{"team": "y"}), "other", b.Turn, []byte(`{}`)))
	w.same("the metadata of another session", 0, len(w.session("other").Metadata))
	b = w.begin("none", "q")
	w.says(w.store.Append(with("none", map[string]string{"k\x00": "v"}), "none", b.Turn, []byte(`{}`)), "control characters")
	_, err := w.store.Session(w.Context(), "none")
	w.is(err, sessions.ErrNoSession)
}

func branch(w world) {
	ctx := w.Context()
	w.ask("s", "one", "first")
	w.fail("s", "two")
	w.ask("s", "three", "third")
	w.ok(w.store.SetMetadata(ctx, "s", map[string]string{"k": "v"}))
	for _, turn := range []int{0, -1, 4} {
		_, err := w.store.Branch(ctx, "s", turn, "b")
		w.says(err, "no turn")
	}
	b := w.begin("s", "four")
	w.event("s", b.Turn)
	_, err := w.store.Branch(ctx, "s", 4, "b")
	w.says(err, "session s has no turn 4 that is over")
	_, err = w.store.Branch(ctx, "nobody", 1, "b")
	w.is(err, sessions.ErrNoSession)

	got, err := w.store.Branch(ctx, "s", 2, "b")
	w.ok(err)
	w.same("the branch", sessions.Session{
		ID: "b", Title: "one", Parent: "s", ParentTurn: 2, Created: got.Created, Updated: got.Updated,
		Metadata: map[string]string{"k": "v"}, Turns: 2, Messages: 2,
	}, got)
	_, err = w.store.Branch(ctx, "s", 1, "b")
	w.is(err, sessions.ErrExists)
	w.same("its history", []string{"one -> first"}, w.history("b"))
	parent, err := w.store.Turns(ctx, "s", 0)
	w.ok(err)
	turns, err := w.store.Turns(ctx, "b", 0)
	w.ok(err)
	w.same("its turns", parent[:2], turns)
	begun := w.begin("b", "another three")
	w.same("its next turn", sessions.Begun{Turn: 3, History: parent[0].Link}, begun)
	w.ok(w.store.End(ctx, "b", 3, answered("another third")))
	w.same("its usage is of its own turns", answered("").Usage, w.session("b").Usage)
	w.same("its history then", []string{"one -> first", "another three -> another third"}, w.history("b"))
	w.same("the parent's history", []string{"one -> first", "three -> third"}, w.history("s"))

	w.ok(w.store.End(ctx, "s", 4, sessions.Ended{Status: kernel.AllFailed}))
	w.ok(w.store.Delete(ctx, "s"))
	head := w.begin("b", "q").History
	w.same("the chain without the parent", []string{"one -> first", "another three -> another third"}, w.chained(head))
}

// branchDeleted branches a session while it is deleted: the branch is whole, or it is refused.
func branchDeleted(w world) {
	ctx := w.Context()
	for i := range 20 {
		w.ask("s", "one", fmt.Sprint("first ", i))
		b := w.begin("s", "two")
		call := w.put(fmt.Sprint("a call ", i))
		list := w.put(fmt.Sprintf(`[{"sha256":"%s","bytes":%d}]`, call.SHA256, call.Bytes))
		e := answered("second")
		e.Messages, e.MessageCount = list, 4
		w.event("s", b.Turn, fmt.Sprint("a call ", i))
		w.ok(w.store.End(ctx, "s", b.Turn, e))
		deleted := make(chan error)
		go func() { deleted <- w.store.Delete(ctx, "s") }()
		made, err := w.store.Branch(ctx, "s", 2, "b")
		w.ok(<-deleted)
		if err != nil {
			w.is(err, sessions.ErrNoSession)
			_, err = w.store.Session(ctx, "b")
			w.is(err, sessions.ErrNoSession)
			continue
		}
		w.same("its turns", 2, made.Turns)
		w.same("its history", []string{fmt.Sprint("one -> first ", i), "two -> second"}, w.history("b"))
		w.same("the list and what it names are there", true, w.isThere(list) && w.isThere(call))
		w.ok(w.store.Delete(ctx, "b"))
	}
	w.ok(w.store.Check(ctx))
}

func remove(w world) {
	ctx := w.Context()
	w.is(w.store.Delete(ctx, "s"), sessions.ErrNoSession)
	for _, id := range []string{"s", "t"} {
		w.begin(id, "the same question")
		w.event(id, 1, "the same text", "only of "+id)
		w.ok(w.store.End(ctx, id, 1, answered("the answer of "+id)))
	}
	w.ok(w.store.Delete(ctx, "s"))
	_, err := w.store.Session(ctx, "s")
	w.is(err, sessions.ErrNoSession)
	for text, want := range map[string]bool{
		"the same question": true, "the same text": true, "only of t": true, "the answer of t": true,
		"only of s": false, "the answer of s": false,
	} {
		w.same("whether "+text+" is there", want, w.isThere(sessions.RefOf([]byte(text))))
	}
	hits, err := w.store.Search(ctx, "question", sessions.Filter{})
	w.ok(err)
	if len(hits) != 2 || hits[0].Session != "t" { // its title and its turn
		w.Errorf("hits %+v", hits)
	}
	w.same("a session of the same id begins anew", sessions.Begun{Turn: 1}, w.begin("s", "q"))
}

// removeKeeps deletes the session that has a text while a turn of another has put
// it and not named it yet.
func removeKeeps(w world) {
	w.begin("old", "q")
	w.event("old", 1, "shared", "named")
	w.ok(w.store.End(w.Context(), "old", 1, answered("a")))
	w.begin("s", "q")
	w.event("s", 1, "named")
	w.put("shared")
	w.begin("t", "q") // a second turn that has put it
	w.put("shared")
	w.event("t", 1, "shared")
	w.ok(w.store.End(w.Context(), "t", 1, answered("a")))
	for _, id := range []string{"old", "t"} {
		w.ok(w.store.Delete(w.Context(), id))
	}
	ref := sessions.RefOf([]byte("shared"))
	w.same("the text is there", true, w.isThere(ref))
	w.ok(w.store.Append(w.Context(), "s", 1, []byte(`{"text":{"sha256":"`+ref.SHA256+`","bytes":6}}`)))
	w.ok(w.store.End(w.Context(), "s", 1, answered("a")))
	w.same("the texts are there", true, w.isThere(ref) && w.isThere(sessions.RefOf([]byte("named"))))
	w.ok(w.store.Delete(w.Context(), "s"))
	w.same("the text is there for nobody", false, w.isThere(ref))
}

func compact(w world) {
	ctx := w.Context()
	w.ask("s", "q", "a")
	w.ok(w.store.Delete(ctx, "s"))
	w.same("the history", []string{}, w.history("s"))
	w.ask("s", "again", "a")
	w.same("the turn after it was deleted", 1, w.session("s").Turns)
	w.begin("t", "q")
	w.event("t", 1, "in a turn that is running")
	w.ok(w.store.Compact(ctx))
	w.same("the history", []string{"again -> a"}, w.history("s"))
	w.ok(w.store.End(ctx, "t", 1, answered("a")))
	w.same("a text of the turn", true, w.isThere(sessions.RefOf([]byte("in a turn that is running"))))
}

func facts(w world) {
	ctx := w.Context()
	add := func(user, text string) sessions.Fact {
		w.Helper()
		f, err := w.store.AddFact(ctx, user, text)
		w.ok(err)
		return f
	}
	sea, again, other, nobody := add("u", "Lives by the sea."), add("u", "Lives by the sea."), add("v", "Lives by the sea."), add("", "x")
	cat := add("u", "Has a cat named \"Sea\"; it's old.")
	w.same("a fact twice", sea, again)
	for user, want := range map[string][]sessions.Fact{"u": {sea, cat}, "v": {other}, "": {nobody}, "w": {}} {
		got, err := w.store.Facts(ctx, user)
		w.ok(err)
		w.same("the facts of "+user, want, got)
	}
	for query, want := range map[string][]sessions.Fact{
		"sea": {sea, cat}, "cat": {cat}, "": {}, "it's": {cat}, "li*": {sea}, `"`: {}, "named-sea": {cat},
	} {
		got, err := w.store.SearchFacts(ctx, "u", query)
		w.ok(err)
		w.same("the facts with "+query, want, got)
	}
	w.ok(w.store.Forget(ctx, sea.ID))
	w.is(w.store.Forget(ctx, sea.ID), sessions.ErrNoFact)
	got, err := w.store.SearchFacts(ctx, "u", "sea")
	w.ok(err)
	w.same("what is left", []sessions.Fact{cat}, got)
	if last := add("u", "Lives by the sea."); last.ID <= cat.ID {
		w.Errorf("the id %d is used again", last.ID)
	}
	for text, words := range map[string]string{" \n": "the fact is empty", "\xff": "not valid UTF-8", strings.Repeat("x", 64<<10+1): "the most is"} {
		_, err := w.store.AddFact(ctx, "u", text)
		w.says(err, words)
	}
	_, err = w.store.AddFact(ctx, "a\nb", "x")
	w.says(err, "control characters")
}

func search(w world) {
	ctx := w.Context()
	w.ask("old", "What moves the tides?", "The moon, and the sun.")
	later()
	w.ask("new", "Which sun is nearest?", "Ours: it is called Sól in Iceland.")
	w.ask("new", "And the moon?", "There is one moon.")
	w.ok(w.store.SetTitle(ctx, "old", "Tides of the sea"))
	w.fail("new", "a question without an answer")
	w.begin("new", "one that is not over")
	w.event("new", 4)
	type place struct {
		Session string
		Turn    int
	}
	find := func(query string, limit int) []place {
		w.Helper()
		hits, err := w.store.Search(ctx, query, sessions.Filter{Limit: limit})
		w.ok(err)
		found := []place{}
		for _, h := range hits {
			found = append(found, place{h.Session, h.Turn})
			if h.Snippet == "" || h.Title != w.session(h.Session).Title {
				w.Errorf("hit %+v", h)
			}
		}
		return found
	}
	for query, want := range map[string][]place{
		"moon":          {{"new", 2}, {"old", 1}},
		"MOON sun":      {{"old", 1}},
		"sun":           {{"new", 0}, {"new", 1}, {"old", 1}},
		"tides":         {{"old", 0}, {"old", 1}},
		"sea":           {{"old", 0}},
		"mo*":           {{"new", 2}, {"old", 1}},
		"one-moon":      {{"new", 2}},
		"moon-one":      {},
		"sól":           {{"new", 1}},
		"without":       {{"new", 3}},
		"over":          {},
		"nothing":       {},
		"moon nothing":  {},
		"moon OR tides": {},
	} {
		w.same("hits of "+query, want, find(query, 0))
	}
	w.same("two hits", []place{{"new", 0}, {"new", 1}}, find("sun", 2))
	_, err := w.store.Branch(ctx, "old", 1, "branch")
	w.ok(err)
	w.ok(w.store.Delete(ctx, "old"))
	w.same("hits of a branch", []place{{"branch", 0}, {"branch", 1}}, find("tides", 0))
}

// oddQueries are no errors, whatever they mean to a search engine.
func oddQueries(w world) {
	w.ask("s", `He said "no" AND left; NEAR(x) col:val ^a + b - c {d} (e) f* 日本 'g' \h %i _j é`, "a")
	for _, query := range []string{
		"", " ", `"`, `""`, `"no`, `no"`, "'", "''", "*", "**", "* *", "no*", "(", ")", "()", "NEAR", "NEAR(", "NEAR(a b, 2)", "AND", "OR", "NOT", "a AND",
		"question:a", "question : a", "-a", "+a", "^a", "{a}", "a{", "\\", "\\\"", "%", "_", ";", "--", "/*", "a;DROP TABLE turns", "\x00", "no\x00", "\xff", "日本", "é", "e\u0301",
		"\u00ad", "²", "Ⅷ", "🙂", "\ue000", strings.Repeat("(", 5000), strings.Repeat("a ", 300), strings.Repeat(`"`, 3),
	} {
		_, err := w.store.Search(w.Context(), query, sessions.Filter{})
		if err != nil {
			w.Errorf("query %.20q: %v", query, err)
		}
		_, err = w.store.SearchFacts(w.Context(), "u", query)
		if err != nil {
			w.Errorf("query %.20q of facts: %v", query, err)
		}
	}
	for _, query := range []string{`"no"`, "NEAR(x)", "col:val", "{d}", "'g'", "日本", "é", "f*", "and"} {
		hits, err := w.store.Search(w.Context(), query, sessions.Filter{})
		w.ok(err)
		w.same("a turn is found by "+query, true, slices.ContainsFunc(hits, func(h sessions.Hit) bool { return h.Turn == 1 }))
	}
}

func exported(w world, id string) []byte {
	w.Helper()
	var b bytes.Buffer
	w.ok(w.store.Export(w.Context(), id, &b))
	return b.Bytes()
}
