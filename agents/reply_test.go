package agents_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// decoded says what a call's arguments were taken for.
func (w *world) decoded(purpose effect.Purpose, name, arguments string) effect.Call {
	w.Helper()
	r := w.reply(w.call(researcher, purpose, researcher, analyst), toolCall("id", name, arguments))
	if len(r.Calls) != 1 || r.Calls[0].ID != "id" || r.Calls[0].Name != name {
		w.Fatalf("one call of %s became %+v", name, r.Calls)
	}
	return r.Calls[0]
}

func TestVotesAreDecoded(t *testing.T) {
	long := strings.Repeat("ä", 1001)
	for _, c := range []struct {
		arguments string
		want      effect.Call
	}{
		{`{"agent_id":"agent1","reason":" it is short\n"}`, effect.Call{Target: analyst, Reason: "it is short"}},
		{`{"agent_id":"agent2","reason":"x"}`, effect.Call{Target: creative, Reason: "x"}},
		{`{"agent_id":"agent3"}`, effect.Call{Target: researcher}},
		{` {"agent_id":" Agent1\n","more":[1]} `, effect.Call{Target: analyst}},
		{`{"agent_id":"agent1","AGENT_ID":"agent2"}`, effect.Call{Target: analyst}},
		{`{"agent_id":"AGENT2"}`, effect.Call{Target: creative}},
		{`{"agent_id":"Agent 2"}`, effect.Call{Target: creative}},
		{`{"agent_id":"<agent2>"}`, effect.Call{Target: creative}},
		{`{"agent_id":"agent_2"}`, effect.Call{Target: creative}},
		{`{"agent_id":"2"}`, effect.Call{Target: creative}},
		{`{"agent_id":"agent4"}`, effect.Call{Target: -1}},
		{`{"agent_id":"agent0"}`, effect.Call{Target: -1}},
		{`{"agent_id":"agent01"}`, effect.Call{Target: -1}},
		{`{"agent_id":"analyst"}`, effect.Call{Target: analyst}},
		{`{"agent_id":"<Analyst>"}`, effect.Call{Target: analyst}},
		{`{"agent_id":"critic"}`, effect.Call{Target: -1}},
		{`{"agent_id":""}`, effect.Call{Target: -1}},
		{`{"agent_id":"agent1","reason":"a\u0000b\u001b[2J"}`, effect.Call{Target: analyst, Reason: "a\uFFFDb\uFFFD[2J"}},
		{`{"agent_id":"agent1","reason":"` + long + `"}`, effect.Call{Target: analyst, Reason: long[:2000] + "…"}},
		{`{"reason":"no agent"}`, effect.Call{Target: -1, Problem: "agent_id is missing"}},
		{`{"agent_id":null}`, effect.Call{Target: -1, Problem: "agent_id is missing"}},
		{`{"agent_id":1}`, effect.Call{Target: analyst}},
		{`{"agent_id":4}`, effect.Call{Target: -1}},
		{`{"agent_id":1.5}`, effect.Call{Target: -1, Problem: "agent_id is not a string"}},
		{`{"agent_id":-1}`, effect.Call{Target: -1, Problem: "agent_id is not a string"}},
		{`{"agent_id":["agent1"]}`, effect.Call{Target: -1, Problem: "agent_id is not a string"}},
		{`{"agent_id":"agent1","reason":{}}`, effect.Call{Target: -1, Problem: "reason is not a string"}},
	} {
		w := newWorld(t)
		c.want.ID, c.want.Name = "id", "vote"
		if diff := cmp.Diff(c.want, w.decoded(effect.Coordination, "vote", c.arguments)); diff != "" {
			t.Errorf("%.80s:\n%s", c.arguments, diff)
		}
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                      "the arguments are missing",
		" \n":                   "the arguments are missing",
		"{":                     "the arguments are not valid JSON (unexpected end of JSON input)",
		`{"content":"a"} {}`:    "the arguments are not valid JSON (invalid character '{' after top-level value)",
		"The answer is solar.":  "the arguments are not valid JSON (invalid character 'T' looking for beginning of value)",
		`["a"]`:                 "the arguments are not a JSON object",
		`"{\"content\":\"a\"}"`: "the arguments are not a JSON object",
		"true":                  "the arguments are not a JSON object",
		"null":                  "content is missing",
		"{}":                    "content is missing",
		`{"text":"a"}`:          "content is missing",
		`{"content":null}`:      "content is missing",
		`{"content":7}`:         "content is not a string",
		`{"content":{"a":"b"}}`: "content is not a string",
	} {
		w := newWorld(t)
		call := w.decoded(effect.Coordination, "new_answer", arguments)
		if call.Problem != want || call.Answer != (blob.Ref{}) || call.Hash != "" {
			t.Errorf("%s: %+v, want the problem %q", arguments, call, want)
		}
	}
}

func TestAnswersAreDecoded(t *testing.T) {
	for _, c := range []struct{ arguments, want string }{
		{`{"content":"The sun."}`, "The sun."},
		{`{"content":"\n  The <sun>. \t"}`, "\n  The <sun>. \t"},
		{`{"content":"a\u0000b"}`, "a\uFFFDb"},
		{"{\"content\":\"a\xffb\"}", "a\uFFFDb"},
		{`{"content":""}`, ""},
		{`{"content":" \n\u00a0"}`, ""},
	} {
		w := newWorld(t)
		call := w.decoded(effect.Coordination, "new_answer", c.arguments)
		if got := w.text(call.Answer); got != c.want || call.Problem != "" || (call.Hash == "") != (c.want == "") || call.Overlaps != nil {
			t.Errorf("%s: %q in %+v, want %q", c.arguments, got, call, c.want)
		}
	}
}

func TestHashIsTheSameForTextsThatDifferInWhiteSpace(t *testing.T) {
	w := newWorld(t)
	hash := func(text string) string {
		return w.reply(w.call(researcher, effect.Coordination), backends.TextDelta{Text: text}).Hash
	}
	want := hash("The sun\nis cheap.")
	for text, same := range map[string]bool{
		"  The  sun is\tcheap.\n\n": true,
		"The sun is cheap":          false,
		"the sun is cheap.":         false,
		"Thesun is cheap.":          false,
	} {
		if got := hash(text) == want; got != same {
			t.Errorf("%q: same=%t, want %t", text, got, same)
		}
	}
	if hash(" \n") != "" {
		t.Error("a blank text has a hash")
	}
}

// TestOverlaps is rule 6: an answer is compared with those that stand by the
// input, which is the last update's set if there was one.
func TestOverlaps(t *testing.T) {
	w := newWorld(t)
	w.turn.Limits.MaxOverlap = 700
	c := w.call(researcher, effect.Coordination, researcher, analyst)
	overlaps := func(content string) []int {
		return w.reply(c, toolCall("a", "new_answer", `{"content":"`+content+`"}`)).Calls[0].Overlaps
	}
	// Shown are "The sun, says researcher." and "The sun, says analyst."
	for content, want := range map[string][]int{
		"the SUN, says analyst. the sun,": {750, 1000},
		"wind wind WIND":                  {0, 0},
		"the wind blows":                  {333, 333},
		"":                                nil,
	} {
		if diff := cmp.Diff(want, overlaps(content)); diff != "" {
			t.Errorf("%s:\n%s", content, diff)
		}
	}
	c.Transcript = []effect.Entry{
		w.message("", backends.ToolCall{ID: "a", Name: "search"}),
		{Kind: effect.Result, CallID: "a", Update: &kernel.Offer{Shown: []kernel.Answer{{Agent: analyst, Text: w.put("the wind")}}}},
	}
	if diff := cmp.Diff([]int{666}, overlaps("the wind blows")); diff != "" {
		t.Errorf("after an update:\n%s", diff)
	}
}

func TestRepliesAreDecodedWhole(t *testing.T) {
	w := newWorld(t)
	r := w.reply(w.call(researcher, effect.Coordination, analyst),
		backends.ReasoningDelta{Text: "hm"}, backends.TextDelta{Text: "I th"}, backends.TextDelta{Text: "ink\x00"},
		toolCall("1", "vote", `{"agent_id":"agent1","reason":"a"}`),
		toolCall("2", "vote", `{"agent_id":"agent1","reason":"a"}`),
		toolCall("3", "new_answer", `{"content":"b"}`),
		toolCall("4", "search", `{}`), toolCall("4", "frobnicate", ``),
		backends.Usage{InputTokens: 1}, backends.Usage{InputTokens: 5, OutputTokens: 6, CachedInputTokens: 4, ReasoningTokens: 3})
	for i, want := range []effect.Call{
		{ID: "1", Name: "vote", Target: analyst, Reason: "a"},
		{ID: "2", Name: "vote", Target: analyst, Reason: "a"},
		{ID: "3", Name: "new_answer", Answer: w.put("b"), Hash: r.Calls[2].Hash},
		{ID: "4", Name: "search", Own: true},
		{ID: "4", Name: "frobnicate"},
	} {
		if diff := cmp.Diff(want, r.Calls[i]); diff != "" {
			t.Errorf("call %d:\n%s", i, diff)
		}
	}
	if w.text(r.Text) != "I think\uFFFD" || r.Failure != nil {
		t.Errorf("the text is %q, the failure %+v", w.text(r.Text), r.Failure)
	}
	if want := (effect.Usage{InputTokens: 5, OutputTokens: 6, CachedInputTokens: 4, ReasoningTokens: 3}); r.Usage == nil || *r.Usage != want {
		t.Errorf("the usage is %+v", r.Usage)
	}
	want := `{"role":"assistant","parts":[{"type":"reasoning","text":"hm"},{"type":"text","text":"I think\u0000"}`
	if got := w.text(r.Message); !strings.HasPrefix(got, want) {
		t.Errorf("the message is stored as %s", got)
	}
}

// TestMessagesAreReadAsReplies: a message that is there already means what it would
// as the reply to a call.
func TestMessagesAreReadAsReplies(t *testing.T) {
	w := newWorld(t)
	c := w.call(researcher, effect.Conversation)
	want := w.reply(c, backends.TextDelta{Text: "hm"}, toolCall("1", "search", `{}`), toolCall("2", "dig", `{}`))
	want.Sent = nil // nothing is sent for such a message
	d := agents.Doer{Blobs: heedingStore{w.store}, Members: []agents.Member{{Tools: []agents.Tool{&search{}}}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := d.Read(ctx, &w.turn, c, backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{
		backends.Text{Text: "hm"},
		backends.ToolCall{ID: "1", Name: "search", Arguments: `{}`}, backends.ToolCall{ID: "2", Name: "dig", Arguments: `{}`},
	}})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || !got.Calls[0].Own || got.Calls[1].Own {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
}

func TestEmptyReply(t *testing.T) {
	w := newWorld(t)
	r := w.reply(w.call(researcher, effect.Coordination))
	if r.Text != (blob.Ref{}) || r.Hash != "" || r.Calls != nil || r.Usage != nil || r.Failure != nil || w.text(r.Message) == "" {
		t.Errorf("an empty reply is %+v", r)
	}
}

// TestOutsideOfCoordinationItsToolsAreLikeAnyOther is rule 1.
func TestOutsideOfCoordinationItsToolsAreLikeAnyOther(t *testing.T) {
	for _, purpose := range []effect.Purpose{effect.Conversation, effect.Presentation, effect.Synthesis} {
		w := newWorld(t)
		for _, name := range []string{"vote", "new_answer"} {
			if diff := cmp.Diff(effect.Call{ID: "id", Name: name}, w.decoded(purpose, name, `{}`)); diff != "" {
				t.Errorf("%s, %s:\n%s", purpose, name, diff)
			}
		}
	}
}

func TestStoreThatFailsIsAnError(t *testing.T) {
	w := newWorld(t)
	w.turn.Limits.MaxOverlap = 1
	c := w.call(researcher, effect.Coordination, analyst)
	said := says{backends.TextDelta{Text: "text"}, toolCall("1", "new_answer", `{"content":"b"}`)}
	for works := range 20 {
		d := agents.Doer{Blobs: &failingStore{Blobs: w.store, works: works}, Members: []agents.Member{{Backend: said}}}
		ev, err := d.Perform(t.Context(), &w.turn, c)
		if err == nil {
			if works < 10 {
				t.Errorf("with a store that fails after %d uses there was no error, but %+v", works, ev)
			}
			continue
		}
		if ev, ok := ev.(effect.ModelReply); ok && ev.Failure != nil {
			t.Errorf("a store's error is told as the model's: %+v", ev)
		}
	}
}
