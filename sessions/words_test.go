package sessions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/sessions"
)

func TestParseID(t *testing.T) {
	for id, want := range map[string]map[string]string{
		"Dan|fractional_abc123|role:cfo":       {"name": "Dan", "app": "fractional", "user": "abc123", "role": "cfo"},
		"Sarah|lostlondon_xyz789|topic:tyburn": {"name": "Sarah", "app": "lostlondon", "user": "xyz789", "topic": "tyburn"},
		"20261121-142523-abcdef":               nil,
		"default":                              nil,
		"Dan|app_u_1":                          {"name": "Dan", "app": "app", "user": "u_1"},
		"Dan|u":                                {"name": "Dan", "user": "u"},
		"|_u|a:b:c|a:d||x|:y|z:":               {"user": "u", "a": "b:c"},
		"Dan|app_u|user:other|name:Eve":        {"name": "Dan", "app": "app", "user": "u"},
		"|":                                    {},
	} {
		if diff := cmp.Diff(want, sessions.ParseID(id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// TestUserStaysInNewIDs keeps the user and the application of an id, and so the facts about the user.
func TestUserStaysInNewIDs(t *testing.T) {
	const own = "|id:20"
	long := strings.Repeat("x", 230)
	for id, want := range map[string]struct{ fresh, copied string }{
		"Dan|fractional_abc123|role:cfo":                        {"Dan|fractional_abc123|role:cfo" + own, "Dan|fractional_abc123|role:cfo" + own},
		"Sarah|lostlondon_xyz789|topic:tyburn":                  {"Sarah|lostlondon_xyz789" + own, "Sarah|lostlondon_xyz789|topic:tyburn" + own},
		"Dan|u":                                                 {"Dan|u" + own, "Dan|u" + own},
		"Dan|app_u|id:20261121-142523-abcdef|role:x|etc":        {"Dan|app_u|role:x|etc" + own, "Dan|app_u|role:x|etc" + own},
		"Dan|app_u|note:" + long:                                {"Dan|app_u" + own, "Dan|app_u" + own},
		long + "|app_userof50bytesandmoresothatthenamegoesaway": {"|app_userof50bytesandmoresothatthenamegoesaway" + own, "|app_userof50bytesandmoresothatthenamegoesaway" + own},
		"default": {"20", "20"}, "|": {"20", "20"}, "Dan|" + long + "0123456789012345678901234567890": {"20", "20"},
	} {
		for got, want := range map[string]string{sessions.NewIDLike(id, "topic"): want.fresh, sessions.NewIDLike(id): want.copied} {
			if !strings.HasPrefix(got, want) || sessions.CheckID(got) != nil || got == id {
				t.Errorf("%s: %s, want %s…", id, got, want)
			}
			if strings.Contains(want, own) && sessions.ParseID(got)[sessions.MetaUser] != sessions.ParseID(id)[sessions.MetaUser] {
				t.Errorf("%s: the user of %s is another", id, got)
			}
		}
	}
}

func TestTitleOf(t *testing.T) {
	for question, want := range map[string]string{
		"Why?":                     "Why?",
		"\n \t\n  two\t words \nx": "two words",
		"":                         "",
		" \n\x00\n":                "",
		"a\x1b[31mb\xff":           "a [31mb\uFFFD",
		strings.Repeat("é", 60):    strings.Repeat("é", 60),
		strings.Repeat("é", 61):    strings.Repeat("é", 59) + "…",
	} {
		got := sessions.TitleOf(question)
		if got != want {
			t.Errorf("the title of %q is %q, want %q", question, got, want)
		}
		if err := sessions.CheckTitle(got); err != nil {
			t.Error(err)
		}
	}
}

func TestParseQuery(t *testing.T) {
	for text, want := range map[string]sessions.Query{
		"":                  nil,
		`"'(-*`:             nil,
		"The Moon":          {{Words: []string{"the"}}, {Words: []string{"moon"}}},
		"renew*":            {{Words: []string{"renew"}, Prefix: true}},
		"co-op's ÄRGER* x2": {{Words: []string{"co", "op", "s"}}, {Words: []string{"ärger"}, Prefix: true}, {Words: []string{"x2"}}},
	} {
		if diff := cmp.Diff(want, sessions.ParseQuery(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestUsageAddsUp(t *testing.T) {
	cost := func(usd float64) *float64 { return &usd }
	a := budget.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3, CachedInputTokens: 4, ReasoningTokens: 2, UnknownCalls: 5, CostUSD: cost(0.5)}
	for _, c := range []struct{ u, v, want budget.Usage }{
		{a, a, budget.Usage{Calls: 2, InputTokens: 4, OutputTokens: 6, CachedInputTokens: 8, ReasoningTokens: 4, UnknownCalls: 10, CostUSD: cost(1)}},
		{a, budget.Usage{}, a},
		{budget.Usage{}, a, a},
		{budget.Usage{}, budget.Usage{CostUSD: cost(7)}, budget.Usage{}},
		{a, budget.Usage{Calls: 1}, budget.Usage{Calls: 2, InputTokens: 2, OutputTokens: 3, CachedInputTokens: 4, ReasoningTokens: 2, UnknownCalls: 5}},
		{budget.Usage{Calls: 1}, budget.Usage{Calls: 1}, budget.Usage{Calls: 2}},
	} {
		if diff := cmp.Diff(c.want, c.u.Plus(c.v)); diff != "" {
			t.Errorf("%+v and %+v (-want +got):\n%s", c.u, c.v, diff)
		}
	}
	if *a.CostUSD != 0.5 {
		t.Error("Plus has changed what it added")
	}
}
