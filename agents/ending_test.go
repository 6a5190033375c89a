package agents_test

import (
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// TestEndingOfAReplyIsRead checks what is recorded of how messages ended.
func TestEndingOfAReplyIsRead(t *testing.T) {
	type ending struct {
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
		want   ending
	}{
		"whole":                        {"stop", []backends.Event{text}, ending{}},
		"an end mark alone":            {"", []backends.Event{text}, ending{}},
		"limit":                        {"MAX_TOKENS", []backends.Event{text}, ending{"MAX_TOKENS", true, true, ""}},
		"cut":                          {"abort", []backends.Event{text}, ending{"abort", true, false, ""}},
		"cut with a whole act":         {"abort", []backends.Event{answer}, ending{"abort", true, false, ""}},
		"unknown":                      {"brand_new", []backends.Event{text}, ending{"brand_new", true, false, ""}},
		"unknown with a whole act":     {"brand_new", []backends.Event{answer}, ending{"brand_new", false, false, ""}},
		"unknown with half an act":     {"brand_new", []backends.Event{half}, ending{"brand_new", true, false, ""}},
		"paused":                       {"pause_turn", []backends.Event{text}, ending{"pause_turn", true, false, ""}},
		"paused for a tool":            {"pause_turn", []backends.Event{tool}, ending{}},
		"ended because it was a loop":  {backends.RepetitionReason, []backends.Event{text}, ending{backends.RepetitionReason, true, false, ""}},
		"reasoning only, at its limit": {"length", []backends.Event{backends.ReasoningDelta{Text: "hm"}}, ending{"length", true, true, `it has only reasoning, and it ended with "length"`}},
		"a blank text":                 {"stop", []backends.Event{backends.TextDelta{Text: " \n"}}, ending{Blank: `it ended with "stop"`}},
		"nothing":                      {"", nil, ending{Blank: "it has no part at all"}},
		"a word of a terminal":         {"a\x1b[31m", []backends.Event{text}, ending{"a\uFFFD[31m", true, false, ""}},
	} {
		w := newWorld(t)
		r := w.reply(w.call(researcher, effect.Coordination, analyst), append(c.said, backends.Finish{Reason: c.finish})...)
		if got := (ending{r.Finish, r.Cut, r.Truncated, r.Blank}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestEndingWarning checks the sentences for people.
func TestEndingWarning(t *testing.T) {
	for want, got := range map[string]string{
		"it was cut (abort): what it says may be incomplete":                           agents.EndingWarning("it", "abort", true),
		"it ended with a word that is not known (odd): what it says may be incomplete": agents.EndingWarning("it", "odd", false),
		"it was ended because it only repeated itself: what it says may be incomplete": agents.EndingWarning("it", backends.RepetitionReason, true),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
