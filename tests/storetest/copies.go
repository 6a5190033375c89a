package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// full makes a session with something of everything in it.
func full(w world, id string) {
	w.Helper()
	w.ask("parent", "one", "first <&> \u2028")
	w.fail("parent", "two")
	_, err := w.store.Branch(w.Context(), "parent", 2, id)
	w.ok(err)
	b := w.begin(id, "three")
	w.event(id, 3, "a text", "bytes\xff\x00", "", "three", "first <&> \u2028")
	for _, event := range []string{"no JSON", "\xff", "null", ` {"a": 1}`, "\"line\\n\"", "7"} {
		w.ok(w.store.Append(w.Context(), id, 3, []byte(event)))
	}
	w.ok(w.store.Append(w.Context(), id, 3, fmt.Appendf(nil, `{"history":{"sha256":"%s","bytes":%d}}`, b.History.SHA256, b.History.Bytes)))
	call := w.put("a call")
	e := answered("third")
	e.Messages, e.MessageCount = w.put(fmt.Sprintf(`[{"sha256":"%s","bytes":%d}]`, call.SHA256, call.Bytes)), 4
	w.ok(w.store.End(w.Context(), id, 3, e))
	b = w.begin(id, "four")
	w.event(id, b.Turn, "of a turn that runs")
	w.ok(w.store.SetMetadata(w.Context(), id, map[string]string{"k": "<v>"}))
}

func exportImport(w world) {
	ctx := w.Context()
	full(w, "s")
	data := exported(w, "s")
	w.same("exported again", string(data), string(exported(w, "s")))
	got, err := w.store.Import(ctx, bytes.NewReader(data), "copy")
	w.ok(err)
	want := w.session("s")
	want.ID = "copy"
	w.same("the copy", want, got)
	before, err := w.store.Turns(ctx, "s", 0)
	w.ok(err)
	after, err := w.store.Turns(ctx, "copy", 0)
	w.ok(err)
	w.same("its turns", before, after)
	for turn := range 5 {
		before, err := w.store.Journal(ctx, "s", turn, 0)
		w.ok(err)
		after, err := w.store.Journal(ctx, "copy", turn, 0)
		w.ok(err)
		w.same("a journal", before, after)
	}
	open, err := w.store.Interrupted(ctx, "copy")
	w.ok(err)
	w.same("the turn that ran is interrupted", 4, open[0].Number)
	again := exported(w, "copy")
	w.same("the export of the copy, from the second line but the last", middle(data), middle(again))

	w.ok(w.store.End(ctx, "s", 4, sessions.Ended{Status: kernel.AllFailed}))
	for _, id := range []string{"s", "parent"} {
		w.ok(w.store.Delete(ctx, id))
	}
	w.same("the export without the others", string(again), string(exported(w, "copy")))
	_, err = w.store.Import(ctx, bytes.NewReader(data), "")
	w.ok(err)
	w.same("the history under its own id", w.history("copy"), w.history("s"))
	b, err := w.store.Resume(ctx, "s")
	w.ok(err)
	w.same("the turn goes on", 4, b.Turn)
	w.same("its chain", []string{"one -> first <&> \u2028", "three -> third"}, w.chained(b.History))
	w.ok(w.store.End(ctx, "s", 4, answered("fourth")))
	hits, err := w.store.Search(ctx, "fourth", sessions.Filter{})
	w.ok(err)
	w.same("hits", 1, len(hits))
}

// middle returns what does not depend on a session's id.
func middle(data []byte) []string {
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[1 : len(lines)-1]
}

func importRefuses(w world) {
	ctx := w.Context()
	full(w, "s")
	data := exported(w, "s")
	sessionsBefore, err := w.store.List(ctx, sessions.Filter{})
	w.ok(err)
	_, err = w.store.Import(ctx, bytes.NewReader(data), "")
	w.is(err, sessions.ErrBusy) // a turn of s is running
	w.ok(w.store.End(ctx, "s", 4, sessions.Ended{Status: kernel.AllFailed}))
	_, err = w.store.Import(ctx, bytes.NewReader(data), "")
	w.is(err, sessions.ErrExists)
	_, err = w.store.Import(ctx, bytes.NewReader(data), "bad\nid")
	w.says(err, "control characters")
	w.ok(w.store.Delete(ctx, "s"))

	lines := strings.SplitAfter(string(data), "\n")
	cases := map[string]string{
		"":                         "the end is missing after line 0",
		"no JSON":                  "line 1: it is not of an exported session",
		`{"a":1}`:                  "line 1: it is not of an exported session",
		lines[0]:                   "the end is missing after line 1",
		lines[1]:                   "line 1: an exported session begins",
		string(data[:len(data)/2]): "import: ",
		string(data) + lines[0]:    "after the end",
		strings.Replace(string(data), `"format":1`, `"format":2`, 1): "it has format 2, and this program reads format 1",
	}
	for i := range lines[:len(lines)-2] { // without any one line, or with it twice
		cases[strings.Join(lines[:i], "")+strings.Join(lines[i+1:], "")] = "import: "
		cases[strings.Join(lines[:i+1], "")+strings.Join(lines[i:], "")] = "import: "
	}
	for i := 0; i < len(data); i += 97 { // with one byte changed
		changed := bytes.Clone(data)
		changed[i] ^= 1
		cases[string(changed)] = "import: "
	}
	for text, words := range cases {
		_, err := w.store.Import(ctx, strings.NewReader(text), "")
		w.says(err, words)
	}
	after, err := w.store.List(ctx, sessions.Filter{})
	w.ok(err)
	w.same("the sessions that are left", len(sessionsBefore)-1, len(after))
	_, err = w.store.Import(ctx, bytes.NewReader(data), "")
	w.ok(err)
}
