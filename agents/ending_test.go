package agents_test

import (
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/finish"
)

// TestEndingOfAReplyIsRead checks what is recorded of how messages ended.
func TestEndingOfAReplyIsRead(t *testing.T) {
	type recorded struct {
		Finish         string
		Cut, Truncated bool
		Blank          string
	}
	text := backends.TextDelta{Text: "The first half"}
	answer := toolCall("1", effect.NewAnswer, `{"content":"whole"}`)
	half := toolCall("1", effect.NewAnswer, `{"content":"ha`)
	tool := toolCall("1", "search", `{}`)
	for name, c := range map[string]struct {
		finish string
		said   []backends.Event
		want   recorded
	}{
		"whole":                        {"stop", []backends.Event{text}, recorded{}},
		"an end mark alone":            {"", []backends.Event{text}, recorded{}},
		"limit":                        {"MAX_TOKENS", []backends.Event{text}, recorded{"MAX_TOKENS", true, true, ""}},
		"cut":                          {"abort", []backends.Event{text}, recorded{"abort", true, false, ""}},
		"cut with a whole act":         {"abort", []backends.Event{answer}, recorded{"abort", true, false, ""}},
		"unknown":                      {"brand_new", []backends.Event{text}, recorded{"brand_new", true, false, ""}},
		"unknown with a whole act":     {"brand_new", []backends.Event{answer}, recorded{"brand_new", false, false, ""}},
		"unknown with half an act":     {"brand_new", []backends.Event{half}, recorded{"brand_new", true, false, ""}},
		"paused":                       {"pause_turn", []backends.Event{text}, recorded{"pause_turn", true, false, ""}},
		"paused for a tool":            {"pause_turn", []backends.Event{tool}, recorded{}},
		"ended because it was a loop":  {finish.Repetition, []backends.Event{text}, recorded{finish.Repetition, true, false, ""}},
		"reasoning only, at its limit": {"length", []backends.Event{backends.ReasoningDelta{Text: "hm"}}, recorded{"length", true, true, `it has only reasoning, and it ended with "length"`}},
		"a blank text":                 {"stop", []backends.Event{backends.TextDelta{Text: " \n"}}, recorded{Blank: `it ended with "stop"`}},
		"nothing":                      {"", nil, recorded{Blank: "it has no part at all"}},
		"a word of a terminal":         {"a\x1b[31m", []backends.Event{text}, recorded{"a\uFFFD[31m", true, false, ""}},
	} {
		w := newWorld(t)
		r := w.reply(w.call(researcher, effect.Coordination, analyst), append(c.said, backends.Finish{Reason: c.finish})...)
		if got := (recorded{r.Finish, r.Cut, r.Truncated, r.Blank}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
