package conversation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/policy"
)

// TestShownConversation has a conversation of 7 messages before the question, of which
// a call and its result are never parted.
func TestShownConversation(t *testing.T) {
	t.Parallel()
	french, left := backends.System("Answer in French."), backends.User("(Earlier messages of this conversation are left out.)")
	looked := message(backends.RoleAssistant, call("1", "look", `{}`))
	found := message(backends.RoleTool, backends.ToolResult{CallID: "1", Name: "look", Content: "rain"})
	q1, a1, q2, a2, q3 := backends.User("one?"), backends.Assistant("un"), backends.User("two?"), backends.Assistant(strings.Repeat("ü", 300)), backends.User("three?")
	said := conversation.Messages{french, q1, looked, found, a1, q2, a2}
	for name, c := range map[string]struct {
		change func(*agents.Context)
		want   conversation.Messages
		told   string
	}{
		"all of it by default": {func(*agents.Context) {}, said, ""},
		"system messages are kept": {func(c *agents.Context) { c.Policy.MaxMessages, c.Policy.KeepRecent = 5, 3 },
			conversation.Messages{french, left, a1, q2, a2}, "prune: shown the last 3 messages, from turn 1 on; what is older is left out"},
		"and left out like others": {func(c *agents.Context) { c.Policy.MaxMessages, c.Policy.KeepRecent, c.Policy.KeepSystem = 5, 3, false },
			conversation.Messages{left, a1, q2, a2}, "prune: shown the last 3 messages, from turn 2 on; what is older is left out"},
		"a call goes with its result": {func(c *agents.Context) { c.Policy.MaxMessages, c.Policy.KeepRecent, c.Policy.KeepSystem = 5, 4, false },
			conversation.Messages{left, a1, q2, a2}, "prune: shown the last 3 messages, from turn 2 on; what is older is left out"},
		"and the result with its call": {func(c *agents.Context) { c.Policy.MaxMessages, c.Policy.KeepRecent, c.Policy.KeepSystem = 5, 5, false },
			conversation.Messages{left, looked, found, a1, q2, a2}, "prune: shown the last 5 messages, from turn 2 on; what is older is left out"},
		"texts are cut": {func(c *agents.Context) { c.Policy.Kind, c.Policy.WindowShown = policy.Window, 1 },
			conversation.Messages{french, left, backends.Assistant(strings.Repeat("ü", 200) + "...")},
			"window: shown the last message, from turn 2 on, each of 200 characters at most; what is older is left out"},
		"the question is sent into a window that is too small": {func(c *agents.Context) { c.Policy, c.Window = policy.Settings{}, 10 },
			conversation.Messages{french}, "full: shown none of the messages; what is older would not fit and is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			a, s := scripted(t, `rules: [{reply: {text: trois}}]`)
			a.SystemMessage = "You translate."
			a.Context.Policy = policy.Defaults()
			if name != "all of it by default" {
				a.Context.Policy.Kind = policy.Prune
			}
			c.change(&a.Context)
			reply := think(t, a, conversation.Request{Conversation: said, Prompt: "three?"})
			want := append(append(conversation.Messages{backends.System("You translate.")}, c.want...), q3)
			if diff := cmp.Diff(want, s.said()); diff != "" {
				t.Errorf("sent (-want +got)\n%s", diff)
			}
			if got := s.requests[0].History; got != c.told || strings.Join(reply.Warnings, "") != prefixed("not all of the conversation was sent; policy ", c.told) {
				t.Errorf("told %q and %q, want %q", got, reply.Warnings, c.told)
			}
			whole := append(said[:len(said):len(said)], q3, backends.Assistant("trois"))
			if diff := cmp.Diff(whole, reply.Conversation); diff != "" {
				t.Errorf("returned (-want +got)\n%s", diff)
			}
		})
	}
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// TestShownConversationIsValid: whatever is left out of a conversation, what is sent
// is valid, ends with the turn that goes on, and what comes back is whole.
func TestShownConversationIsValid(t *testing.T) {
	t.Parallel()
	const script = `
rules:
  - {when: {last: tool}, reply: {text: done}}
  - {reply: {tool_calls: [{id: new, name: works, arguments: {}}]}}
`
	rapid.Check(t, func(r *rapid.T) {
		req := conversation.Request{Conversation: drawMessages(r), Prompt: "go", Tools: []string{"works"}}
		whole, _ := scripted(t, script, names("works"))
		shown, s := scripted(t, script, names("works"))
		shown.Context = agents.Context{Policy: drawPolicy(r), Window: rapid.IntRange(0, 300).Draw(r, "window")}
		want, got := exec(t, whole, req, 3), exec(t, shown, req, 3)
		if diff := cmp.Diff(want.Conversation, got.Conversation); diff != "" {
			r.Fatalf("returned (-want +got)\n%s", diff)
		}
		goOn := conversation.Request{Conversation: got.Conversation[:len(got.Conversation)-1], Tools: req.Tools}
		if rest := exec(t, shown, goOn, 3); !cmp.Equal(got.Conversation, rest.Conversation) {
			r.Fatalf("what is gone on with returns %v", rest.Conversation)
		}
		for _, sent := range s.requests {
			if diff := cmp.Diff(backends.Repair(sent.Messages), sent.Messages, cmpopts.EquateEmpty()); diff != "" {
				r.Fatalf("sent (-repaired +sent)\n%s", diff)
			}
		}
		first := s.requests[0].Messages
		if diff := cmp.Diff(backends.User("go"), first[len(first)-1]); diff != "" {
			r.Fatalf("the question (-want +got)\n%s", diff)
		}
	})
}

func drawPolicy(t *rapid.T) policy.Settings {
	s := policy.Defaults()
	s.Kind = rapid.SampledFrom([]policy.Kind{policy.Full, policy.Window, policy.Prune}).Draw(t, "policy")
	s.MaxMessages = rapid.IntRange(0, 6).Draw(t, "max")
	s.KeepRecent = rapid.IntRange(0, s.MaxMessages).Draw(t, "keep")
	s.KeepSystem = rapid.Bool().Draw(t, "system")
	s.WindowShown = rapid.IntRange(0, 6).Draw(t, "shown")
	return s
}

func TestContextThatCannotBe(t *testing.T) {
	for want, s := range map[string]policy.Settings{
		"context: summarize is a policy of sessions: choose full, window or prune": {Kind: policy.Summarize},
		`context: the policy "all" is none of full, window, prune and summarize`:   {Kind: "all"},
	} {
		a, spy := scripted(t, arithmetic)
		a.Context.Policy = s
		if _, err := a.Think(t.Context(), conversation.Request{Prompt: "go"}); err == nil || err.Error() != want || len(spy.requests) > 0 {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
