package storetest

import (
	"context"
	"strings"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

func onlyRunning(w world) {
	ctx := w.Context()
	e := []byte("{}")
	w.says(w.store.Append(ctx, "s", 1, e), "turn 1 of session s is not running")
	w.says(w.store.End(ctx, "s", 1, answered("a")), "turn 1 of session s is not running")
	w.begin("s", "q")
	w.says(w.store.Append(ctx, "s", 2, e), "turn 2 of session s is not running")
	w.says(w.store.Append(ctx, "s", 1, nil), "is empty")
	w.ok(w.store.Append(ctx, "s", 1, e))
	w.ok(w.store.End(ctx, "s", 1, answered("a")))
	w.says(w.store.Append(ctx, "s", 1, e), "turn 1 of session s is not running")
	w.says(w.store.End(ctx, "s", 1, answered("b")), "turn 1 of session s is not running")
	w.same("the history", []string{"q -> a"}, w.history("s"))
	_, err := w.store.Resume(ctx, "s")
	w.says(err, "no interrupted turn")
	_, err = w.store.Resume(ctx, "nobody")
	w.is(err, sessions.ErrNoSession)
	w.begin("s", "the session is free")
}

func cancelled(w world) {
	w.ask("s", "q", "a")
	before, err := w.store.Turns(w.Context(), "s", 0)
	w.ok(err)
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	_, err = w.store.Begin(ctx, "s", "q2")
	w.is(err, context.Canceled)
	w.begin("s", "q2") // the session is not held
	_, err = w.store.Put(ctx, []byte("x"))
	w.is(err, context.Canceled)
	_, err = w.store.Get(ctx, before[0].Link)
	w.is(err, context.Canceled)
	w.is(w.store.Append(ctx, "s", 2, []byte("{}")), context.Canceled)
	w.is(w.store.End(ctx, "s", 2, answered("a2")), context.Canceled)
	_, err = w.store.Session(ctx, "s")
	w.is(err, context.Canceled)
	_, err = w.store.Turns(ctx, "s", 0)
	w.is(err, context.Canceled)
	_, err = w.store.Journal(ctx, "s", 1, 0)
	w.is(err, context.Canceled)
	_, err = w.store.List(ctx, sessions.Filter{})
	w.is(err, context.Canceled)
	_, err = w.store.Search(ctx, "q", sessions.Filter{})
	w.is(err, context.Canceled)
	w.is(w.store.SetTitle(ctx, "s", "t"), context.Canceled)
	w.is(w.store.Delete(ctx, "s"), context.Canceled)
	_, err = w.store.Branch(ctx, "s", 1, "b")
	w.is(err, context.Canceled)
	_, err = w.store.AddFact(ctx, "u", "f")
	w.is(err, context.Canceled)
	w.is(w.store.Compact(ctx), context.Canceled)
	w.is(w.store.Check(ctx), context.Canceled)
	after, err := w.store.Turns(w.Context(), "s", 0)
	w.ok(err)
	w.same("the turns after calls that were cancelled", before, after)
	w.same("the title", "q", w.session("s").Title)
	w.same("the next turn: End lets go of the session in any case", 2, w.begin("s", "q2").Turn)
}

func invalid(w world) {
	ctx := w.Context()
	for id, words := range map[string]string{
		"":                       "empty",
		".":                      "name of a folder",
		"..":                     "name of a folder",
		" \u2003":                "white space alone",
		"a\nb":                   "control characters",
		"a\xff":                  "UTF-8",
		strings.Repeat("x", 257): "the most is 256",
	} {
		_, err := w.store.Begin(ctx, id, "q")
		w.says(err, words)
		w.says(w.store.Delete(ctx, id), words)
	}
	_, err := w.store.Begin(ctx, "s", "a\xff")
	w.says(err, "question is not valid UTF-8")
	w.is(w.store.SetTitle(ctx, "s", "t"), sessions.ErrNoSession)
	w.is(w.store.SetMetadata(ctx, "s", map[string]string{"k": "v"}), sessions.ErrNoSession)
	_, err = w.store.Turns(ctx, "s", 0)
	w.is(err, sessions.ErrNoSession)
	_, err = w.store.Interrupted(ctx, "s")
	w.is(err, sessions.ErrNoSession)
	w.ask("s", "q", "a")
	w.says(w.store.SetTitle(ctx, "s", "two\nlines"), "control characters")
	w.says(w.store.SetTitle(ctx, "s", strings.Repeat("x", 1001)), "the most is 1000")
	w.says(w.store.SetMetadata(ctx, "s", map[string]string{"": "v"}), "a key of the metadata is empty")
	w.says(w.store.SetMetadata(ctx, "s", map[string]string{"k\x00": "v"}), "control characters")
	w.says(w.store.SetMetadata(ctx, "s", map[string]string{"k": "\xff"}), "metadata's k is not valid UTF-8")
}

// invalidEnds are refused, and leave a turn that never ended.
func invalidEnds(w world) {
	for words, e := range map[string]sessions.Ended{
		`status ""`:          {},
		`status "running"`:   {Status: sessions.Running},
		"no winner":          {Status: kernel.Completed, Answer: "a"},
		"not valid UTF-8":    {Status: kernel.Completed, Winner: "a", Answer: "\xff"},
		"no text is stored":  {Status: kernel.Completed, Winner: "a", Answer: "a", Messages: sessions.RefOf([]byte("x")), MessageCount: 2},
		"lacks the question": {Status: kernel.Completed, Winner: "a", Answer: "a", Messages: sessions.RefOf(nil), MessageCount: 1},
	} {
		turn := w.begin(words, "q").Turn
		w.event(words, turn)
		w.says(w.store.End(w.Context(), words, turn, e), words[:len(words)-1])
		left, err := w.store.Interrupted(w.Context(), words)
		w.ok(err)
		w.same("turns that never ended", 1, len(left))
		w.same("the history", []string{}, w.history(words))
	}
}
