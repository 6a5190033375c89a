package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/backends"
)

// mischief is a model and its tools that do the worst, and a caller who may cancel
// at any time.
type mischief struct {
	replies []reply // what comes next; after them a text
	cancel  context.CancelFunc
	release chan struct{} // lets the deaf tool return
}

// reply is what a model does when it is called.
type reply struct {
	kind  string
	calls []backends.ToolCall
}

func drawReplies(t *rapid.T) []reply {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) reply {
		r := reply{kind: rapid.SampledFrom([]string{"calls", "calls", "calls", "text", "empty", "error", "panic", "hang", "cancel"}).Draw(t, "kind")}
		if r.kind != "calls" && r.kind != "cancel" {
			return r
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
			r.calls = append(r.calls, call(
				rapid.SampledFrom([]string{"", "same", fmt.Sprint(i)}).Draw(t, "id"),
				rapid.SampledFrom([]string{"works", "works", "fails", "panics", "cancels", "deaf", "hidden", "not.there", ""}).Draw(t, "tool"),
				rapid.SampledFrom([]string{`{}`, `{"a": 1}`, `{"a`, ``}).Draw(t, "arguments")))
		}
		return r
	}), 0, 5).Draw(t, "replies")
}

func (m *mischief) Stream(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		r := reply{kind: "text"}
		if len(m.replies) > 0 {
			r, m.replies = m.replies[0], m.replies[1:]
		}
		events := []backends.Event{backends.Opaque{Provider: "p", Model: "m", Data: []byte(`{"signature":"EqQB+/8="}`)}}
		switch r.kind {
		case "panic":
			panic("boom")
		case "hang":
			m.cancel()
			<-ctx.Done()
			fallthrough
		case "error":
			yield(nil, &backends.Error{Kind: backends.KindNetwork, Provider: "p", Message: r.kind})
			return
		case "cancel":
			m.cancel()
		case "text":
			events = append(events, backends.TextDelta{Text: "done"})
		}
		for _, c := range r.calls {
			events = append(events, c)
		}
		for _, ev := range append(events, backends.Finish{Reason: "stop"}) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func (m *mischief) tools() []agents.Tool {
	return []agents.Tool{
		names("works"), names("hidden"),
		does{"fails", func(context.Context, string) (string, error) { return "half", errors.New("broken") }},
		does{"panics", func(context.Context, string) (string, error) { panic("boom") }},
		does{"cancels", func(ctx context.Context, _ string) (string, error) { m.cancel(); return "", ctx.Err() }},
		does{"deaf", func(context.Context, string) (string, error) { m.cancel(); <-m.release; return "late", nil }},
	}
}

// TestConversationIsValidAfterAnyFault: whatever befalls a loop, the conversation
// begins with the one that was handed in, every call in it has its result, its JSON
// reads back equal, and it goes on.
func TestConversationIsValidAfterAnyFault(t *testing.T) {
	t.Parallel()
	seen := map[conversation.Status]int{}
	rapid.Check(t, func(r *rapid.T) {
		m := &mischief{replies: drawReplies(r)}
		req := conversation.Request{
			Conversation: drawMessages(r), Prompt: rapid.SampledFrom([]string{"", "go", "go"}).Draw(r, "prompt"),
			Tools: []string{"works", "fails", "panics", "cancels", "deaf"},
		}
		maxTurns := rapid.IntRange(1, 4).Draw(r, "max turns")
		var first, second conversation.Result
		var err, secondErr error
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			m.cancel, m.release = cancel, make(chan struct{})
			a := conversation.Agent{Backend: m, Tools: m.tools()}
			first, err = a.Exec(ctx, req, maxTurns)
			m.replies = nil
			goOn := conversation.Request{Conversation: first.Conversation, Tools: req.Tools}
			second, secondErr = a.Exec(t.Context(), goOn, 1)
			cancel()
			close(m.release)
		})
		if (err != nil) != (first.Status == conversation.Failed) || first.Turns > maxTurns {
			r.Fatalf("it ended with %v, status %q after %d of %d turns", err, first.Status, first.Turns, maxTurns)
		}
		if first.Usage.Calls == 0 && !errors.Is(err, context.Canceled) {
			return // there was nothing to reply to
		}
		seen[first.Status]++
		checkConversation(r, req.Conversation, first.Conversation)
		if first.Status != conversation.Done && (secondErr != nil || second.Status != conversation.Done) {
			r.Fatalf("after %s, %v, it does not go on: %v", first.Status, err, secondErr)
		}
	})
	for _, status := range []conversation.Status{conversation.Done, conversation.MaxTurns, conversation.Failed} {
		if seen[status] == 0 {
			t.Errorf("no loop ended with %s: %v", status, seen)
		}
	}
}

func checkConversation(t *rapid.T, before, after conversation.Messages) {
	if diff := cmp.Diff(conversation.Messages(backends.Repair(after)), after, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("the conversation is not valid (-repaired +is):\n%s", diff)
	}
	begin, _ := before.Repaired()
	kept := after[:min(len(begin), len(after))]
	if diff := cmp.Diff(sameJSON(t, begin), sameJSON(t, kept), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("it does not begin with the one that was handed in:\n%s", diff)
	}
	data, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	read, warnings, err := conversation.Parse(data)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("it is read with %v, %q:\n%s", err, warnings, data)
	}
	if diff := cmp.Diff(sameJSON(t, after), sameJSON(t, read), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("it reads back otherwise:\n%s", diff)
	}
}
