package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/tests/linear"
)

// TestTagsMayBeCut splits a text in any pieces, as the whole would be split.
func TestTagsMayBeCut(t *testing.T) {
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{"<think>", "</think>", "<", "think>", "</", " ", "\n", "a", "ü"}))
	rapid.Check(t, func(t *rapid.T) {
		whole := tagSplitter{state: atStart}
		cut := tagSplitter{state: atStart}
		texts := pieces.Draw(t, "pieces")
		wantReasoning, wantText := splitAll(&whole, strings.Join(texts, ""))
		reasoning, text := splitAll(&cut, texts...)
		if reasoning != wantReasoning || text != wantText {
			t.Fatalf("%q gives %q %q, in one piece %q %q", texts, reasoning, text, wantReasoning, wantText)
		}
	})
}

func splitAll(s *tagSplitter, pieces ...string) (reasoning, text string) {
	for _, piece := range pieces {
		r, t := s.split(piece)
		reasoning, text = reasoning+r, text+t
	}
	r, t := s.end()
	return reasoning + r, text + t
}

func TestTags(t *testing.T) {
	for in, want := range map[string][2]string{
		"<think>a</think>\n\nb":    {"a", "b"},
		" \n<think></think>b ":     {"", "b "},
		"<think>cut off":           {"cut off", ""},
		"<think>a</thin":           {"a</thin", ""},
		"<think>a</think>":         {"a", ""},
		" <thin":                   {"", " <thin"},
		"  b":                      {"", "  b"},
		"b <think>a</think>":       {"", "b <think>a</think>"},
		"<think>a</think><think>b": {"a", "<think>b"},
	} {
		if reasoning, text := splitAll(&tagSplitter{state: atStart}, in); reasoning != want[0] || text != want[1] {
			t.Errorf("%q gives %q %q, want %q", in, reasoning, text, want)
		}
	}
	if reasoning, text := splitAll(&tagSplitter{}, "<think>a</think>b"); reasoning != "" || text != "<think>a</think>b" {
		t.Errorf("where no tags are known: %q %q", reasoning, text)
	}
}

func TestExtraBody(t *testing.T) {
	for _, c := range []struct {
		name  string
		extra map[string]any
		want  string
	}{
		{"choices need tools", map[string]any{"tool_choice": "auto", "parallel_tool_calls": true, "seed": 0, "stream_options": nil},
			`{"messages":[],"model":"m","seed":0,"stream":true}`},
		{"nil removes, a value replaces", map[string]any{"stream": nil, "model": "<n>", "stream_options": []any{}},
			`{"messages":[],"model":"<n>","stream_options":[]}`},
		{"tools keep their choice", map[string]any{"tools": []int{1}, "tool_choice": "auto", "messages": nil},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"tool_choice":"auto","tools":[1]}`},
	} {
		fields, err := encoder{model: "m", shared: wire.NewShared(0, 0)}.encode(&backends.Request{Params: backends.Params{ExtraBody: c.extra}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.Object(fields)
		if err != nil || string(got.Whole()) != c.want {
			t.Errorf("%s:\n%s\nwant\n%s (%v)", c.name, got.Whole(), c.want, err)
		}
	}
}

// decoded is a chunk as it comes.
func decoded(t interface{ Fatal(args ...any) }, data []byte) chunk {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCharactersMayBeCut cuts a text anywhere, also inside of characters, sends
// each piece in a chunk of its own, and gets the text back.
func TestCharactersMayBeCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aü日🌞\uFFFD"))).Draw(t, "text")
		a := newAnswer(backends.Key{}, Dialect{}, origin{})
		var got strings.Builder
		add := func(events []backends.Event, err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range events {
				if d, ok := ev.(backends.TextDelta); ok {
					got.WriteString(d.Text)
				}
			}
		}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			piece := rest[:n]
			rest = rest[n:]
			add(a.Add(decoded(t, []byte(`{"choices":[{"delta":{"content":"`+piece+`","tool_calls":[{"index":0,"function":{"arguments":"`+piece+`"}}]}}]}`))))
		}
		add(a.End())
		if got.String() != text {
			t.Fatalf("%q became %q", text, got.String())
		}
		if calls := a.calls.merged(); text != "" && calls[0].Arguments != text {
			t.Fatalf("%q became %q in arguments", text, calls[0].Arguments)
		}
	})
}

// TestHalvesMayBeCut cuts a text anywhere between the units of UTF-16, each of which
// is escaped.
func TestHalvesMayBeCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aü\\\"u🌞😀\uFFFD\uD7FF"))).Draw(t, "text")
		a := newAnswer(backends.Key{}, Dialect{Reasoning: ReasoningContent}, origin{})
		var got, thought strings.Builder
		add := func(events []backends.Event, err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range events {
				switch d := ev.(type) {
				case backends.TextDelta:
					got.WriteString(d.Text)
				case backends.ReasoningDelta:
					thought.WriteString(d.Text)
				}
			}
		}
		for rest := utf16.Encode([]rune(text)); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			var piece strings.Builder
			for _, unit := range rest[:n] {
				fmt.Fprintf(&piece, `\u%04x`, unit)
			}
			rest = rest[n:]
			add(a.Add(decoded(t, fmt.Appendf(nil, `{"choices":[{"delta":{"content":"%[1]s","reasoning":"%[1]s","tool_calls":[{"index":0,"function":{"arguments":"%[1]s"}}]}}]}`, &piece))))
		}
		kept := a.kept.text.String()
		add(a.End())
		if got.String() != text || thought.String() != text || joinHalves(kept) != text {
			t.Fatalf("%q became %q, reasoning %q, kept %q", text, got.String(), thought.String(), kept)
		}
		if calls := a.calls.merged(); strings.TrimSpace(text) != "" && calls[0].Arguments != wire.TidyArguments(text) {
			t.Fatalf("%q became %q in arguments", text, calls[0].Arguments)
		}
	})
}

func TestBytesThatAreNoCharacter(t *testing.T) {
	a := newAnswer(backends.Key{}, Dialect{}, origin{})
	first, err := a.Add(decoded(t, []byte("{\"choices\":[{\"delta\":{\"content\":\"a\xff b\xe2\"}}]}")))
	if err != nil {
		t.Fatal(err)
	}
	last, err := a.End()
	if err != nil {
		t.Fatal(err)
	}
	want := []backends.Event{backends.TextDelta{Text: "a\uFFFD b"}, backends.TextDelta{Text: "\uFFFD"}, backends.Finish{}}
	if diff := cmp.Diff(want, append(first, last...)); diff != "" {
		t.Error(diff)
	}
}

// TestCompleteArguments compares, after each piece, with a reader of the whole.
func TestCompleteArguments(t *testing.T) {
	alphabet := rapid.SliceOf(rapid.SampledFrom([]string{"{", "}", "[", "]", `"`, `\`, "a", "1", ",", ":", " ", "null", `{"a":1}`}))
	rapid.Check(t, func(t *rapid.T) {
		var a argumentsText
		for _, piece := range alphabet.Draw(t, "pieces") {
			a.write(piece)
			text := a.text.String()
			if want := json.Valid([]byte(text)); a.complete() != want && (a.closed || len(text) <= maxLiteral) {
				t.Fatalf("%q is complete: %v, want %v", text, a.complete(), want)
			}
		}
	})
}

// TestReasoningTakesLinearTime sends long reasoning in small pieces.
func TestReasoningTakesLinearTime(t *testing.T) {
	linear.Check(t, 20_000, func(n int) {
		keeper := reasoningKeeper{form: ReasoningDetails}
		tags := tagSplitter{state: atStart}
		for range n {
			keeper.add("", []map[string]any{{"type": "reasoning.text", "text": "0123456789"}})
			tags.split(" ")
		}
		if len(keeper.details) != 1 {
			t.Errorf("%d details", len(keeper.details))
		}
	})
}

// TestFragmentsTakeLinearTime sends one long call. Each of its fragments has an id and a name.
func TestFragmentsTakeLinearTime(t *testing.T) {
	linear.Check(t, 5000, func(n int) {
		var m callMerger
		var f callFragment
		f.ID, f.Function.Name, f.Function.Arguments = "a", "new_answer", `{"content":"`
		for range n {
			if _, err := m.add(0, f); err != nil {
				t.Fatal(err)
			}
			f.Function.Arguments = "0123456789012345678901234567890123456789"
		}
		if len(m.calls) != 1 {
			t.Errorf("%d calls", len(m.calls))
		}
	})
}

// A caller may change its list of tools and send it again.
func TestToolsThatChangedAreSentAsTheyAre(t *testing.T) {
	e := encoder{model: "m", shared: wire.NewShared(0, 0)}
	tools := []backends.Tool{{Name: "first", Schema: []byte(`{"type":"object"}`)}}
	for _, name := range []string{"first", "second"} {
		tools[0].Name = name
		fields, err := e.encode(&backends.Request{Messages: []backends.Message{backends.User("hello")}, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		body, err := wire.Object(fields)
		if err != nil || !strings.Contains(string(body.Whole()), `"name":"`+name+`"`) {
			t.Errorf("%s, %v", body.Whole(), err)
		}
	}
}
