package conversation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/policy"
)

// TestLongLoopIsHeldToThePolicy ends with max_turns after twenty messages, and is gone on
// with to done. What is left out on the way comes back all the same.
func TestLongLoopIsHeldToThePolicy(t *testing.T) {
	shown := agents.Context{Policy: policy.Defaults()}
	shown.Policy.Kind, shown.Policy.MaxMessages, shown.Policy.KeepRecent = policy.Prune, 10, 4
	a, s := scripted(t, `rules: [{reply: {tool_calls: [{id: "1", name: search, arguments: {}}]}}]`, names("search"))
	a.Context = shown
	r := exec(t, a, conversation.Request{Prompt: "a", Tools: []string{"search"}}, 20)
	if r.Status != conversation.MaxTurns || r.Turns != 20 || len(r.Conversation) != 41 {
		t.Errorf("it ended with %s after %d turns, with %d messages", r.Status, r.Turns, len(r.Conversation))
	}
	told := []string{"of what was said since the last question, 16 earlier messages and 16 tool results were left out; policy prune"}
	if diff := cmp.Diff(told, r.Warnings); diff != "" {
		t.Errorf("the warnings (-want +got):\n%s", diff)
	}
	note := "a\n\n[16 earlier messages and 16 tool results were left out]"
	want := append(conversation.Messages{backends.User(note)}, r.Conversation[33:38]...)
	want = append(want, results(result("1", "search", "search of {}")), backends.User(contextbuild.FinalTurn(false)))
	if diff := cmp.Diff(want, s.said()); diff != "" {
		t.Errorf("the last turn is sent (-want +got):\n%s", diff)
	}

	a, s = scripted(t, `rules: [{reply: {text: Found.}}]`, names("search"))
	a.Context = shown
	done := exec(t, a, conversation.Request{Conversation: r.Conversation, Tools: []string{"search"}}, 5)
	ended(t, done, conversation.Done, 1, append(r.Conversation[:41:41], backends.Assistant("Found.")))
	if diff := cmp.Diff(told, done.Warnings); diff != "" {
		t.Errorf("the warnings of the rest (-want +got):\n%s", diff)
	}
	want = append(conversation.Messages{backends.User(note)}, r.Conversation[33:]...)
	if diff := cmp.Diff(want, s.said()); diff != "" {
		t.Errorf("the rest is sent (-want +got):\n%s", diff)
	}
}

// TestLongLoopFitsTheWindow: of what has no room under the policy full the oldest is
// left out, too.
func TestLongLoopFitsTheWindow(t *testing.T) {
	t.Parallel()
	a, s := scripted(t, `rules: [{reply: {tool_calls: [{id: "1", name: search, arguments: {}}]}}]`, names("search"))
	a.Context = agents.Context{Policy: policy.Defaults(), Window: 800}
	r := exec(t, a, conversation.Request{Prompt: "a", Tools: []string{"search"}}, 20)
	for i, req := range s.requests {
		if n := a.Context.Counter.Request(req).Tokens; n > 600 {
			t.Errorf("call %d is sent %d tokens", i+1, n)
		}
	}
	if len(r.Conversation) != 41 || len(r.Warnings) != 1 {
		t.Errorf("%d messages, warnings %q", len(r.Conversation), r.Warnings)
	}
}
