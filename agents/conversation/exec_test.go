package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/backends"
)

// does is a tool that is one function.
type does struct {
	names
	call func(ctx context.Context, arguments string) (string, error)
}

func (d does) Call(ctx context.Context, arguments string) (string, error) {
	return d.call(ctx, arguments)
}

func exec(t *testing.T, a conversation.Agent, req conversation.Request, maxTurns int) conversation.Result {
	t.Helper()
	r, err := a.Exec(t.Context(), req, maxTurns)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ended compares how a loop ended with what it should have come to.
func ended(t *testing.T, r conversation.Result, status conversation.Status, turns int, want conversation.Messages) {
	t.Helper()
	if r.Status != status || r.Turns != turns {
		t.Errorf("it ended with %s after %d turns, want %s after %d", r.Status, r.Turns, status, turns)
	}
	if diff := cmp.Diff(want, r.Conversation); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
}

// endless is a model that calls search whenever it may.
const endless = `
rules:
  - {when: {tools: [search]}, reply: {text: "Looking.", tool_calls: [{id: again, name: search, arguments: {}}]}}
  - {when: {contains: "This is your FINAL turn"}, reply: {text: "I give up."}}
  - {reply: {text: "No tools."}}
`

func TestLoopRunsTheToolsOfAMessageAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := does{"search", func(ctx context.Context, arguments string) (string, error) {
			time.Sleep(time.Second)
			return "found " + arguments, nil
		}}
		a, s := scripted(t, `
rules:
  - {when: {last: tool}, reply: {text: "Both are there."}}
  - {reply: {text: "I look for both.", tool_calls: [{id: "1", name: search, arguments: {q: a}}, {id: "2", name: search, arguments: {q: b}}]}}
`, slow)
		start := time.Now()
		r := exec(t, a, conversation.Request{Prompt: "Find a and b", Tools: []string{"search"}}, 10)
		if took := time.Since(start); took != time.Second {
			t.Errorf("two calls of a second each took %s", took)
		}
		ended(t, r, conversation.Done, 2, conversation.Messages{
			backends.User("Find a and b"),
			assistant(backends.Text{Text: "I look for both."}, call("1", "search", `{"q":"a"}`), call("2", "search", `{"q":"b"}`)),
			results(result("1", "search", `found {"q":"a"}`), result("2", "search", `found {"q":"b"}`)),
			backends.Assistant("Both are there."),
		})
		if r.Content != "Both are there." || r.Usage.Calls != 2 {
			t.Errorf("%q, %+v", r.Content, r.Usage)
		}
		if diff := cmp.Diff(r.Conversation[:3], s.said()); diff != "" {
			t.Errorf("sent last (-want +got):\n%s", diff)
		}
	})
}

// TestLastTurn: the model is told of it, and offered no tools.
func TestLastTurn(t *testing.T) {
	a, s := scripted(t, endless, names("search"))
	r := exec(t, a, conversation.Request{Prompt: "a", Tools: []string{"search"}}, 3)
	asked, found := assistant(backends.Text{Text: "Looking."}, call("again", "search", "{}")), results(result("again", "search", "search of {}"))
	ended(t, r, conversation.Done, 3, conversation.Messages{backends.User("a"), asked, found, asked, found, backends.Assistant("I give up.")})
	for i, req := range s.requests {
		last := req.Messages[len(req.Messages)-1]
		told := cmp.Equal(last, backends.User("This is your FINAL turn. Reply with your whole answer now; no tool will be run."))
		if told != (i == 2) || (len(req.Tools) == 0) != (i == 2) {
			t.Errorf("call %d: told of the last turn %t, %d tools", i+1, told, len(req.Tools))
		}
	}
	if r := exec(t, a, conversation.Request{Prompt: "a", Tools: []string{"search"}}, 1); r.Content != "I give up." || r.Turns != 1 {
		t.Errorf("the only turn is the last, and says %q", r.Content)
	}
}

// TestContentIsThatOfTheLastMessage: one that only calls tools has none.
func TestContentIsThatOfTheLastMessage(t *testing.T) {
	a, _ := scripted(t, `
rules:
  - {when: {index: 1}, reply: {tool_calls: [{id: "2", name: search, arguments: {}}]}}
  - {reply: {text: "Looking.", tool_calls: [{id: "1", name: search, arguments: {}}]}}
`, names("search"))
	if r := exec(t, a, conversation.Request{Prompt: "a", Tools: []string{"search"}}, 2); r.Content != "" || r.Turns != 2 {
		t.Errorf("after %d turns it says %q", r.Turns, r.Content)
	}
}

// TestGoOnFromMaxTurns: a model that calls tools that it was not offered ends with
// max_turns, and goes on from there as if it had had more turns.
func TestGoOnFromMaxTurns(t *testing.T) {
	a, s := scripted(t, `
rules:
  - {when: {contains: "search of {}"}, reply: {text: "Found."}}
  - {reply: {text: "Looking.", tool_calls: [{id: again, name: search, arguments: {}}]}}
`, names("search"))
	r := exec(t, a, conversation.Request{Prompt: "a", Tools: []string{"search"}}, 1)
	refused := result("again", "search", `Error: there is no tool "search" on offer now. Use one that is, if there is any, or reply with your answer.`)
	refused.IsError = true
	asked := assistant(backends.Text{Text: "Looking."}, call("again", "search", "{}"))
	want := conversation.Messages{backends.User("a"), asked, results(refused)}
	ended(t, r, conversation.MaxTurns, 1, want)
	if r.Content != "Looking." {
		t.Errorf("it says %q", r.Content)
	}
	r = exec(t, a, conversation.Request{Conversation: r.Conversation, Tools: []string{"search"}}, 5)
	ended(t, r, conversation.Done, 2, append(want, asked, results(result("again", "search", "search of {}")), backends.Assistant("Found.")))
	if diff := cmp.Diff(want, conversation.Messages(s.requests[1].Messages)); diff != "" || len(s.requests) != 3 {
		t.Errorf("%d requests, the second (-want +got):\n%s", len(s.requests), diff)
	}
}

// TestOpenCallsAreRunFirst takes over from Think, as seed 001 shows it.
func TestOpenCallsAreRunFirst(t *testing.T) {
	a, _ := scripted(t, reading, names("read_file"), names("search"))
	asked := think(t, a, conversation.Request{Conversation: conversation.Messages{}, Prompt: "Explain main.py", Tools: []string{"read_file"}})
	r := exec(t, a, conversation.Request{Conversation: asked.Conversation, Tools: []string{"read_file"}}, 1)
	ended(t, r, conversation.Done, 1, append(asked.Conversation[:2:2],
		results(result("call_123", "read_file", `read_file of {"path":"main.py"}`), result("call_124", "read_file", `read_file of {"invalid_arguments":"{"}`)),
		backends.Assistant("It says hello.")))
	// Only what is offered is run.
	r = exec(t, a, conversation.Request{Conversation: asked.Conversation, Tools: []string{"search"}}, 1)
	for _, p := range r.Conversation[2].Parts {
		if p := p.(backends.ToolResult); !p.IsError || !strings.Contains(p.Content, `no tool "read_file" on offer`) {
			t.Errorf("a tool that is not chosen gives %+v", p)
		}
	}
	// A prompt means that they are not to be run any more.
	r = exec(t, a, conversation.Request{Conversation: asked.Conversation, Prompt: "Never mind.", Tools: []string{"read_file"}}, 1)
	if got := r.Conversation[2].Parts[0].(backends.ToolResult).Content; got != backends.NoResult || len(r.Warnings) != 2 {
		t.Errorf("the result is %q, the warnings %q", got, r.Warnings)
	}
}

func TestToolsThatBreakGiveResults(t *testing.T) {
	broken := func(name string, call func(context.Context, string) (string, error)) agents.Tool {
		return does{names(name), call}
	}
	a, _ := scripted(t, `
rules:
  - {when: {last: tool}, reply: {text: "All are broken."}}
  - {reply: {tool_calls: [{id: "1", name: fails, arguments: {}}, {id: "2", name: panics, arguments: {}}, {id: "3", name: sings, arguments: {}}, {id: "4", name: hides, arguments: {}}]}}
`, broken("fails", func(context.Context, string) (string, error) { return "", errors.New("no index") }),
		broken("panics", func(context.Context, string) (string, error) { panic("boom") }),
		names("hides"))
	r := exec(t, a, conversation.Request{Prompt: "a", Tools: []string{"fails", "panics"}}, 10)
	if r.Status != conversation.Done || r.Turns != 2 || len(r.Conversation) != 4 {
		t.Fatalf("%+v", r)
	}
	for i, want := range []string{
		"Error: no index",
		"Error: the tool panics broke down (boom). Go on without it.",
		`Error: there is no tool "sings" on offer now. Use one that is, if there is any, or reply with your answer.`,
		`Error: there is no tool "hides" on offer now. Use one that is, if there is any, or reply with your answer.`,
	} {
		if got := r.Conversation[2].Parts[i].(backends.ToolResult); got.Content != want || !got.IsError {
			t.Errorf("call %d: %+v, want %s", i+1, got, want)
		}
	}
}

// TestUnknownToolsDoNotEndTheLoop: it is turns that are limited, not vain attempts.
func TestUnknownToolsDoNotEndTheLoop(t *testing.T) {
	a, _ := scripted(t, `rules: [{reply: {tool_calls: [{id: "1", name: sing, arguments: {}}]}}]`)
	for _, turns := range []int{1, 2, 7} {
		r := exec(t, a, conversation.Request{Prompt: "a"}, turns)
		if r.Status != conversation.MaxTurns || r.Turns != turns || len(r.Conversation) != 1+2*turns {
			t.Errorf("of %d turns: %s after %d, %d messages", turns, r.Status, r.Turns, len(r.Conversation))
		}
	}
}

// TestFailedLoopGoesOn: whatever fails, what was said is there, and goes on.
func TestFailedLoopGoesOn(t *testing.T) {
	a, _ := scripted(t, `
rules:
  - {when: {last: tool}, reply: {error: {kind: overloaded, message: busy, status: 529}}}
  - {reply: {text: "Looking.", tool_calls: [{id: "1", name: search, arguments: {}}]}}
`, names("search"))
	r, err := a.Exec(t.Context(), conversation.Request{Prompt: "a", Tools: []string{"search"}}, 10)
	if backends.KindOf(err) != backends.KindOverloaded || r.Error != "scripted: overloaded (HTTP 529): busy" || r.Content != "Looking." {
		t.Errorf("%v: %+v", err, r)
	}
	want := conversation.Messages{
		backends.User("a"), assistant(backends.Text{Text: "Looking."}, call("1", "search", "{}")), results(result("1", "search", "search of {}")),
	}
	ended(t, r, conversation.Failed, 1, want)
	a, _ = scripted(t, `rules: [{when: {last: tool}, reply: {text: Found.}}]`, names("search"))
	ended(t, exec(t, a, conversation.Request{Conversation: r.Conversation}, 10), conversation.Done, 1, append(want, backends.Assistant("Found.")))
}

// TestResultInJSON has the form of seed 001, and why it is an error.
func TestResultInJSON(t *testing.T) {
	a, _ := scripted(t, `rules: [{reply: {error: {kind: auth, message: no key}}}]`)
	r, _ := a.Exec(t.Context(), conversation.Request{Prompt: "a"}, 1)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"status":"error","turns":0,"content":"","conversation":[{"role":"user","content":"a"}],` +
		`"usage":{"calls":1,"input_tokens":0,"output_tokens":0,"cached_input_tokens":0,"unknown_calls":1,"cost_usd":null},` +
		`"error":"scripted: auth: no key"}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
}

func TestCancelDuringAToolKeepsItsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		heeds := does{"heeds", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }}
		deaf := does{"deaf", func(context.Context, string) (string, error) { <-release; return "", nil }}
		a, s := scripted(t, `
rules:
  - {reply: {tool_calls: [{id: "1", name: heeds, arguments: {}}, {id: "2", name: deaf, arguments: {}}]}}
`, heeds, deaf)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		r, err := a.Exec(ctx, conversation.Request{Prompt: "a", Tools: []string{"heeds", "deaf"}}, 10)
		if took := time.Since(start); took != time.Second+agents.AbandonAfter {
			t.Errorf("it took %s", took)
		}
		if !errors.Is(err, context.DeadlineExceeded) || r.Error != "stopped: context deadline exceeded" || len(s.requests) != 1 {
			t.Errorf("%v, %q after %d requests", err, r.Error, len(s.requests))
		}
		failed := func(id, name, content string) backends.Part {
			return backends.ToolResult{CallID: id, Name: name, Content: content, IsError: true}
		}
		ended(t, r, conversation.Failed, 1, conversation.Messages{
			backends.User("a"), assistant(call("1", "heeds", "{}"), call("2", "deaf", "{}")),
			results(failed("1", "heeds", "Error: the call was cancelled"),
				failed("2", "deaf", "Error: the call ignored its cancellation for 2s and was abandoned")),
		})
		close(release)
	})
}

// TestNoToolIsRunAfterACancel: the reply that came nevertheless is kept, and its
// calls are told as interrupted.
func TestNoToolIsRunAfterACancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	a, s := scripted(t, `rules: [{reply: {tool_calls: [{id: "1", name: count, arguments: {}}]}}]`,
		does{"count", func(context.Context, string) (string, error) { runs++; return "", nil }})
	s.Backend = says(func(yield func(backends.Event, error) bool) {
		cancel()
		_ = yield(call("1", "count", "{}"), nil) && yield(backends.Finish{}, nil) // who stops listening has all
	})
	r, err := a.Exec(ctx, conversation.Request{Prompt: "a", Tools: []string{"count"}}, 10)
	if !errors.Is(err, context.Canceled) || runs != 0 {
		t.Errorf("%v, the tool ran %d times", err, runs)
	}
	ended(t, r, conversation.Failed, 1, conversation.Messages{
		backends.User("a"), assistant(call("1", "count", "{}")),
		results(backends.ToolResult{CallID: "1", Name: "count", Content: backends.NoResult, IsError: true}),
	})
}

func TestLoopsThatCannotBegin(t *testing.T) {
	over := conversation.Messages{backends.User("a"), backends.Assistant("b")}
	for want, c := range map[string]struct {
		req   conversation.Request
		turns int
	}{
		"max_turns is 0: it is at least 1": {conversation.Request{Conversation: over, Prompt: "c"}, 0},
		"the prompt is empty, and the conversation ends with a message of role assistant: there is nothing to reply to": {conversation.Request{Conversation: over}, 1},
		`tools: there is no "sing": the agent has no tools`:                                                             {conversation.Request{Conversation: over, Prompt: "c", Tools: []string{"sing"}}, 1},
	} {
		a, _ := scripted(t, arithmetic)
		r, err := a.Exec(t.Context(), c.req, c.turns)
		if err == nil || err.Error() != want || r.Error != want {
			t.Errorf("got %v and %q, want %s", err, r.Error, want)
		}
		ended(t, r, conversation.Failed, 0, over)
	}
}
