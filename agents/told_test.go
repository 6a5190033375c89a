package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/tools/schema"
)

// observed runs a call, and returns its reply and what people were told.
func (w *world) observed(t testing.TB, backend backends.Backend, call effect.ModelCall) (effect.ModelReply, []agents.Told) {
	t.Helper()
	d := w.doer(backend)
	var told []agents.Told
	d.Observe = func(_ effect.Key, piece agents.Told) { told = append(told, piece) }
	ev, err := d.Perform(w.Context(), &w.turn, call)
	if err != nil {
		t.Fatal(err)
	}
	return ev.(effect.ModelReply), told
}

// textOf joins the pieces of an act, and counts them.
func textOf(told []agents.Told, act string) (text string, pieces int) {
	for _, piece := range told {
		if piece.Act == act && piece.Text != "" {
			text += piece.Text
			pieces++
		}
	}
	return text, pieces
}

// inPieces cuts a text anywhere, also within a character if isText is false.
func inPieces(t *rapid.T, text string) []string {
	var pieces []string
	for text != "" {
		n := rapid.IntRange(1, len(text)).Draw(t, "bytes")
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// hostile are texts of answers that are hard to cut.
func hostile() *rapid.Generator[string] {
	return rapid.StringOf(rapid.RuneFrom([]rune("ab \"\\\n\t{}[]:,é😀\u2028\u0085\x00/ünameactionvote")))
}

// escaped encodes a text with as many escapes as possible.
func escaped(text string) string {
	data, _ := json.Marshal(text) // a text encodes
	var b strings.Builder
	for _, r := range string(data) {
		if r > 0xFFFF {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800|r>>10, 0xDC00|r&0x3FF)
		} else if r > 0x7F {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestPiecesOfAnActAreTheActAsItIsAccepted, however its arguments are written and cut.
func TestPiecesOfAnActAreTheActAsItIsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range w.turn.Agents {
		w.turn.Agents[i].TextCalls = true // other forms count
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := hostile().Draw(rt, "text")
		call := w.call(researcher, effect.Coordination, researcher, analyst)
		act := rapid.SampledFrom([]string{effect.NewAnswer, effect.Vote}).Draw(rt, "act")
		key, more := "content", ""
		if act == effect.Vote {
			key, more = "reason", `"agent_id":"agent1", `
		}
		value := rapid.SampledFrom([]func(string) string{escaped, func(s string) string { data, _ := json.Marshal(s); return string(data) }}).Draw(rt, "encoding")(text)
		arguments := fmt.Sprintf(` { %s"%s" : %s }`, more, key, value)
		form := rapid.SampledFrom([]string{
			"tool", `{"action":{"name":"%[1]s",%[2]s}}`, `{"action": {%[2]s, "name":"%[1]s"}}`, `{"action":"%[1]s",%[2]s}`,
			`{"name":"%[1]s","arguments":{%[2]s}}`, "Here:\n```json\n" + `{"arguments":{%[2]s},"name":"%[1]s"}` + "\n```", `{"%[1]s":{%[2]s}}`,
			`<tool_call>{"name":"%[1]s","arguments":{%[2]s}}</tool_call>`,
		}).Draw(rt, "form")
		var said says
		if form == "tool" {
			for _, piece := range inPieces(rt, arguments) {
				said = append(said, backends.ToolCallDelta{Name: act, Text: piece})
			}
			if rapid.Bool().Draw(rt, "whole") {
				said = nil
			}
			said = append(said, backends.ToolCall{ID: "1", Name: act, Arguments: arguments})
		} else {
			call.JSON = rapid.Bool().Draw(rt, "json")
			for _, piece := range inPieces(rt, fmt.Sprintf(form, act, strings.Trim(arguments, " {}"))) {
				said = append(said, backends.TextDelta{Text: piece})
			}
		}
		reply, told := w.observed(t, said, call)
		if len(reply.Calls) != 1 || reply.Calls[0].Problem != "" {
			return // refused: what was told is void
		}
		want := reply.Calls[0].Reason
		if act == effect.NewAnswer {
			want = w.text(reply.Calls[0].Answer)
		}
		if got, _ := textOf(told, act); got != want {
			rt.Fatalf("told is %q, and accepted %q", got, want)
		}
		if beside, _ := textOf(told, ""); strings.ContainsAny(beside, "{<") {
			rt.Fatalf("the text beside the act is %q", beside)
		}
	})
}

// TestHalfAnAnswerIsToldBeforeTheRestComes in each form that streams.
func TestHalfAnAnswerIsToldBeforeTheRestComes(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		inJSON bool
		event  backends.Event
		want   string
	}{
		"a call":                  {false, backends.ToolCallDelta{Name: effect.NewAnswer, Text: `{"content":"half a\n`}, "half a"},
		"a reason":                {false, backends.ToolCallDelta{Name: effect.Vote, Text: `{"reason":"it is `}, "it is"},
		"JSON mode":               {true, backends.TextDelta{Text: `{"action":{"name":"new_answer","content":"half \ud83d`}, "half"},
		"JSON mode, name at last": {true, backends.TextDelta{Text: `{"action":{"content":"half","name":"new_answer"`}, "half"},
		"no name yet":             {true, backends.TextDelta{Text: `{"action":{"content":"half`}, ""},
	} {
		call := w.call(researcher, effect.Coordination, researcher, analyst)
		call.JSON = c.inJSON
		_, told := w.observed(t, breaking(cutError(), c.event), call)
		answer, _ := textOf(told, effect.NewAnswer)
		reason, _ := textOf(told, effect.Vote)
		if answer+reason != c.want {
			t.Errorf("%s: told is %q", name, told)
		}
	}
}

func TestAnswerWithASchemaIsToldAsItsJSON(t *testing.T) {
	w := newWorld(t)
	answers, err := schema.Parse([]byte(`{"type":"object","properties":{"town":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	w.turn.Schema = w.put(answers.String())
	arguments := `{"content": {"town" : "Ro me", "n":[1, {"content":"x"}]} }`
	var said says
	for _, piece := range strings.SplitAfter(arguments, "o") {
		said = append(said, backends.ToolCallDelta{Name: effect.NewAnswer, Text: piece})
	}
	said = append(said, toolCall("1", effect.NewAnswer, arguments))
	reply, told := w.observed(t, said, w.call(researcher, effect.Coordination))
	text, pieces := textOf(told, effect.NewAnswer)
	if len(reply.Calls) != 1 || text != w.text(reply.Calls[0].Answer) || text != `{"town":"Ro me","n":[1,{"content":"x"}]}` || pieces < 2 {
		t.Errorf("told is %q in %d pieces; the calls are %+v", text, pieces, reply.Calls)
	}
}

// TestSourcesOfAnAnswerAreToldAtItsEnd, in place of the white space there.
func TestSourcesOfAnAnswerAreToldAtItsEnd(t *testing.T) {
	w := newWorld(t)
	said := says{backends.Citation{URL: "https://example.org/tides"}, toolCall("1", effect.NewAnswer, `{"content":"The moon. \n"}`)}
	reply, told := w.observed(t, said, w.call(researcher, effect.Coordination))
	if text, _ := textOf(told, effect.NewAnswer); text != w.text(reply.Calls[0].Answer) || !strings.Contains(text, "example.org") {
		t.Errorf("told is %q", text)
	}
}

func TestAnotherAttemptIsToldFromItsBeginning(t *testing.T) {
	w := newWorld(t)
	backend := streams(func(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
		return func(yield func(backends.Event, error) bool) {
			if !yield(backends.ToolCallDelta{Name: effect.NewAnswer, Text: `{"content":"first`}, nil) {
				return
			}
			backends.TraceFrom(ctx).WillRetry(backends.RetryInfo{Err: cutError()})
			_ = yield(backends.ToolCallDelta{Name: effect.NewAnswer, Text: `{"content":"second"}`}, nil) &&
				yield(toolCall("1", effect.NewAnswer, `{"content":"second"}`), nil) && yield(backends.Finish{Reason: "stop"}, nil)
		}
	})
	_, told := w.observed(t, backend, w.call(researcher, effect.Coordination))
	want := []agents.Told{{Act: effect.NewAnswer, Text: "first"}, {Act: effect.NewAnswer, Text: "second"}, {Tool: effect.NewAnswer}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// TestACallInTextIsNotTold, but the text beside calls is, as soon as it is known to be text.
func TestACallInTextIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.turn.Agents[researcher].TextCalls = true
	for text, want := range map[string]string{
		"plain {braces} and <b>marks</b>, [1], `code`":                   "plain {braces} and <b>marks</b>, [1], `code`",
		`<tool_call>{"name":"search","arguments":{"q":"x"}}</tool_call>`: "",
		`{"name":"search","arguments":{"q":"x"}}`:                        "",
		"```json\n" + `{"name":"search","arguments":{}}` + "\n```":       "",
		`{"town":"Rome"}`: `{"town":"Rome"}`,
		`I vote. {"name":"vote","agent_id":"agent1","reason":"short"}`: "I vote. ",
		"Go:\n```go\nx := map[string]int{\"a\": 1}\n```\nDone.":        "Go:\n```go\nx := map[string]int{\"a\": 1}\n```\nDone.",
		`<function=search><parameter=q>x</parameter></function>`:       "",
		`commentary to=functions.search {"q":"x"}`:                     "",
	} {
		var said says
		for _, r := range text {
			said = append(said, backends.TextDelta{Text: string(r)})
		}
		_, told := w.observed(t, said, w.call(researcher, effect.Coordination, researcher, analyst))
		if got, _ := textOf(told, ""); got != want {
			t.Errorf("of %q %q is told", text, got)
		}
	}
}

// TestTextBesideACallOfTheBackendIsToldWhole, also the part that was held back because it might have been a call.
func TestTextBesideACallOfTheBackendIsToldWhole(t *testing.T) {
	w := newWorld(t)
	w.turn.Agents[researcher].TextCalls = true
	const text = "I read this first:\n```json\n{\"name\": \"search\""
	said := says{backends.TextDelta{Text: text[:30]}, backends.TextDelta{Text: text[30:]}, toolCall("1", effect.NewAnswer, `{"content":"The moon."}`)}
	_, told := w.observed(t, said, w.call(researcher, effect.Coordination))
	if got, _ := textOf(told, ""); got != text {
		t.Errorf("told is %q", got)
	}
	if got, _ := textOf(told, effect.NewAnswer); got != "The moon." {
		t.Errorf("the answer is told as %q", got)
	}
}

// TestHeldTextIsNotCopiedForEachPiece of a long message.
func TestHeldTextIsNotCopiedForEachPiece(t *testing.T) {
	w := newWorld(t)
	const pieces = 20_000
	for name, c := range map[string]struct {
		inJSON       bool
		begin, piece string
	}{
		"JSON mode":          {true, `{"action":{"name":"new_answer","content":"`, "word "},
		"text after a call":  {false, `{"name":"search","arguments":"`, "word "},
		"space in an answer": {true, `{"action":{"name":"new_answer","content":"a`, "     "},
		"signs, no letters":  {true, `{"action":{"name":"new_answer","content":"`, "-----"},
	} {
		w.turn.Agents[researcher].TextCalls = true
		call := w.call(researcher, effect.Coordination)
		call.JSON = c.inJSON
		said := []backends.Event{backends.TextDelta{Text: c.begin}}
		for range pieces {
			said = append(said, backends.TextDelta{Text: c.piece})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w.observed(t, breaking(cutError(), said...), call)
		runtime.ReadMemStats(&after)
		if bytes, most := after.TotalAlloc-before.TotalAlloc, uint64(pieces*len(c.piece)*300); bytes > most {
			t.Errorf("%s: %d bytes were allocated, more than %d", name, bytes, most)
		}
	}
}

// FuzzAnswerInPieces: whatever the arguments are, and wherever they are cut, the pieces are the answer if it is one.
func FuzzAnswerInPieces(f *testing.F) {
	for _, seed := range []string{`{"content":"a"}`, `{"x":{"content":1},"content":"\ud83d\ude00"}`, `{"content":{"a":"}"}}`, `{"a":["b\"",{}],"content":"\ud83dx"}`, "{\"content\":\"\xf0\x9f\"}", `{"content":"\u000é rest"}`} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, arguments string, size uint8) {
		w := newWorld(t)
		var said says
		for rest := arguments; rest != ""; {
			n := min(int(size%16)+1, len(rest))
			said = append(said, backends.ToolCallDelta{Name: effect.NewAnswer, Text: rest[:n]})
			rest = rest[n:]
		}
		said = append(said, toolCall("1", effect.NewAnswer, arguments))
		reply, told := w.observed(t, said, w.call(researcher, effect.Coordination))
		text, _ := textOf(told, effect.NewAnswer)
		var fields map[string]json.RawMessage
		isOnce := json.Unmarshal([]byte(arguments), &fields) == nil && strings.Count(arguments, "content") == 1 && !strings.Contains(arguments, `\u00`)
		if len(reply.Calls) == 1 && reply.Calls[0].Problem == "" && isOnce && text != w.text(reply.Calls[0].Answer) {
			t.Errorf("%q is told as %q", arguments, text)
		}
		if text != contextbuild.Clean(text) {
			t.Errorf("%q is told as %q, which is not clean", arguments, text)
		}
	})
}
