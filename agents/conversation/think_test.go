package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	leaks.Main(m)
}

// spy is a backend that remembers its requests.
type spy struct {
	backends.Backend
	mu       sync.Mutex
	requests []backends.Request
}

func (s *spy) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	return s.Backend.Stream(ctx, req)
}

// said is what the last request sent.
func (s *spy) said() conversation.Messages { return s.requests[len(s.requests)-1].Messages }

// scripted is an agent whose model follows a script, and what it is sent.
func scripted(t *testing.T, script string, tools ...agents.Tool) (conversation.Agent, *spy) {
	t.Helper()
	parsed, err := debugbackend.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s := &spy{Backend: debugbackend.NewScripted(parsed)}
	return conversation.Agent{ID: "ada", Backend: s, Model: "m", Tools: tools}, s
}

func think(t *testing.T, a conversation.Agent, req conversation.Request) conversation.Reply {
	t.Helper()
	reply, err := a.Think(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

const arithmetic = `
rules:
  - {when: {contains: "2+2"}, reply: {text: "4"}}
  - {when: {contains: "3+3"}, reply: {text: "6", usage: {input_tokens: 7, output_tokens: 1}}}
`

func TestConversationIsReturnedExtended(t *testing.T) {
	a, s := scripted(t, arithmetic)
	a.SystemMessage = "You count."
	first := think(t, a, conversation.Request{Conversation: conversation.Messages{}, Prompt: "What's 2+2?"})
	reply := think(t, a, conversation.Request{Conversation: first.Conversation, Prompt: "What about 3+3?\x00"})
	want := conversation.Messages{
		backends.User("What's 2+2?"), backends.Assistant("4"), backends.User("What about 3+3?\uFFFD"), backends.Assistant("6"),
	}
	if diff := cmp.Diff(want, reply.Conversation); diff != "" || reply.Content != "6" || reply.HasToolCalls || reply.ToolCalls != nil {
		t.Errorf("%+v, (-want +got)\n%s", reply, diff)
	}
	if diff := cmp.Diff(append(conversation.Messages{backends.System("You count.")}, want[:3]...), s.said()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	key := backends.Key{Turn: 2, Agent: "ada", Purpose: "conversation"}
	if got := s.requests[1]; got.Key != key || got.Model != "m" || len(got.Tools) != 0 {
		t.Errorf("the request is %+v of %s with %d tools", got.Key, got.Model, len(got.Tools))
	}
	if reply.Usage.Calls != 1 || reply.Usage.InputTokens != 7 {
		t.Errorf("the usage is %+v", reply.Usage)
	}
	if len(first.Conversation) != 2 {
		t.Error("the conversation that was handed in has changed")
	}
}

func TestParametersAreSent(t *testing.T) {
	a, s := scripted(t, `rules: [{reply: {text: x}}]`)
	temperature := 0.5
	a.Params = backends.Params{Temperature: &temperature, Headers: map[string]string{"X-Team": "a"}}
	think(t, a, conversation.Request{Prompt: "a"})
	if diff := cmp.Diff(a.Params, s.requests[0].Params); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAConversationOnlyTextComesBack(t *testing.T) {
	a, s := scripted(t, arithmetic)
	reply := think(t, a, conversation.Request{Prompt: "What's 2+2?"})
	if reply.Content != "4" || reply.Conversation != nil || reply.HasToolCalls {
		t.Errorf("%+v", reply)
	}
	if diff := cmp.Diff(conversation.Messages{backends.User("What's 2+2?")}, s.said()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// names is a tool that is there by its name alone.
type names string

func (n names) Definition() backends.Tool {
	return backends.Tool{Name: string(n), Description: "Does " + string(n) + ".", Schema: []byte(`{"type":"object"}`)}
}

func (n names) Call(_ context.Context, arguments string) (string, error) {
	return string(n) + " of " + arguments, nil
}

const reading = `
rules:
  - {when: {last: tool}, reply: {text: "It says hello."}}
  - {when: {contains: "This is your FINAL turn"}, reply: {text: "It says hello."}}
  - {when: {tools: [read_file]}, reply: {text: "Let me see.", tool_calls: [
      {id: call_123, name: read_file, arguments: {path: main.py}}, {id: call_124, name: read_file, arguments: "{"}]}}
  - {reply: {text: "I have no tools."}}
`

func TestToolCallsAndTheirResults(t *testing.T) {
	a, s := scripted(t, reading, names("search"), names("read_file"))
	asked := think(t, a, conversation.Request{Conversation: conversation.Messages{}, Prompt: "Explain main.py", Tools: []string{"read_file"}})
	wantCalls := []conversation.ToolCall{
		{ID: "call_123", Name: "read_file", Arguments: json.RawMessage(`{"path":"main.py"}`)},
		{ID: "call_124", Name: "read_file", Arguments: json.RawMessage(`{"invalid_arguments":"{"}`)},
	}
	if diff := cmp.Diff(wantCalls, asked.ToolCalls); diff != "" || !asked.HasToolCalls || asked.Content != "Let me see." {
		t.Errorf("%q, has_tool_calls %t, (-want +got)\n%s", asked.Content, asked.HasToolCalls, diff)
	}
	offered := []backends.Tool{names("read_file").Definition()}
	if diff := cmp.Diff(offered, s.requests[0].Tools); diff != "" {
		t.Errorf("the tools on offer (-want +got):\n%s", diff)
	}
	told := think(t, a, conversation.Request{
		Conversation: asked.Conversation, Tools: []string{"read_file"},
		ToolResults: []conversation.ToolResult{{ToolUseID: "call_124", Content: "no object", IsError: true}, {ToolUseID: "call_123", Content: "hello\x00"}},
	})
	want := asked.Conversation[:2:2]
	want = append(want, results(result("call_123", "read_file", "hello\uFFFD"),
		backends.ToolResult{CallID: "call_124", Name: "read_file", Content: "no object", IsError: true}))
	if diff := cmp.Diff(want, s.said()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append(want, backends.Assistant("It says hello.")), told.Conversation); diff != "" || len(told.Warnings) > 0 {
		t.Errorf("warnings %q, (-want +got)\n%s", told.Warnings, diff)
	}
}

func TestPromptMayFollowResults(t *testing.T) {
	a, s := scripted(t, `rules: [{reply: {text: x}}]`)
	before := conversation.Messages{backends.User("a"), assistant(call("1", "f", "{}"), call("2", "f", "{}"))}
	reply := think(t, a, conversation.Request{
		Conversation: before, Prompt: "Never mind the other.", ToolResults: []conversation.ToolResult{{ToolUseID: "2", Content: "b"}},
	})
	want := append(before[:2:2],
		results(backends.ToolResult{CallID: "1", Name: "f", Content: backends.NoResult, IsError: true}, result("2", "f", "b")),
		backends.User("Never mind the other."))
	if diff := cmp.Diff(want, s.said()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if got := strings.Join(reply.Warnings, "\n"); got != `message 2: the call "1" of f has no result, and was given one that says so` {
		t.Errorf("the warnings are %s", got)
	}
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	open := conversation.Messages{assistant(call("1", "f", "{}"))}
	over := conversation.Messages{backends.User("a"), backends.Assistant("b")}
	empty := conversation.Messages{}
	answers := func(ids ...string) (list []conversation.ToolResult) {
		for _, id := range ids {
			list = append(list, conversation.ToolResult{ToolUseID: id})
		}
		return list
	}
	for want, req := range map[string]conversation.Request{
		"the prompt is empty, and so is the conversation: there is nothing to reply to":                                 {Prompt: " \n"},
		"the prompt is empty, and the conversation ends with a message of role assistant: there is nothing to reply to": {Conversation: over},
		"the prompt is empty, and the conversation ends with a message of role system: there is nothing to reply to":    {Conversation: conversation.Messages{backends.System("s")}},
		"the conversation's last message calls tools: give their results as tool results, or let Exec run them":         {Conversation: open},
		"tools and tool results need a conversation: give an empty one to begin it":                                     {Prompt: "a", Tools: []string{"search"}},
		`tool_results[0]: no call "2" of the conversation's last message waits for a result`:                            {Conversation: open, ToolResults: answers("2")},
		`tool_results[1]: no call "1" of the conversation's last message waits for a result`:                            {Conversation: open, ToolResults: answers("1", "1")},
		`tools: there is no "sing": the agent's tools are search, dig`:                                                  {Conversation: empty, Prompt: "a", Tools: []string{"search", "sing"}},
		`tools: "dig" is chosen twice`: {Conversation: empty, Prompt: "a", Tools: []string{"dig", "dig"}},
	} {
		a, s := scripted(t, arithmetic, names("search"), names("dig"))
		reply, err := a.Think(t.Context(), req)
		if err == nil || err.Error() != want || len(s.requests) > 0 {
			t.Errorf("%d requests, and\n got %v\nwant %s", len(s.requests), err, want)
		}
		if diff := cmp.Diff(req.Conversation, reply.Conversation); diff != "" {
			t.Errorf("%s: the conversation has changed:\n%s", want, diff)
		}
	}
	for want, a := range map[string]conversation.Agent{
		"the agent has no backend":                             {},
		`tools: there is no "dig": the agent has no tools`:     {Backend: &spy{}},
		`two of the agent's tools are named "dig": rename one`: {Backend: &spy{}, Tools: []agents.Tool{names("dig"), names("dig")}},
	} {
		if _, err := a.Think(t.Context(), conversation.Request{Conversation: empty, Prompt: "a", Tools: []string{"dig"}}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestFailedCallCanBeMadeAgain: its conversation is what was sent.
func TestFailedCallCanBeMadeAgain(t *testing.T) {
	before := conversation.Messages{backends.User("a"), backends.Assistant("b")}
	for script, want := range map[string]struct {
		kind backends.Kind
		text string
	}{
		`{error: {kind: rate_limit, message: "slow\x1b[31m"}}`: {backends.KindRateLimit, "scripted: rate limit: slow\uFFFD[31m"},
		`{panic: boom}`:   {"panic", "its call panicked: boom"},
		`{text: " "}`:     {backends.KindNetwork, `the model's reply was empty: it ended with "stop"`},
		`{reasoning: hm}`: {backends.KindNetwork, `the model's reply was empty: it has only reasoning, and it ended with "stop"`},
	} {
		a, _ := scripted(t, "rules: [{reply: "+script+"}]")
		reply, err := a.Think(t.Context(), conversation.Request{Conversation: before, Prompt: "c"})
		if err == nil || err.Error() != want.text || backends.KindOf(err) != want.kind {
			t.Errorf("%s ended with %v of kind %s", script, err, backends.KindOf(err))
		}
		if diff := cmp.Diff(append(before, backends.User("c")), reply.Conversation); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", script, diff)
		}
		a, _ = scripted(t, `rules: [{when: {contains: c}, reply: {text: d}}]`)
		if again := think(t, a, conversation.Request{Conversation: reply.Conversation}); again.Content != "d" {
			t.Errorf("made again, the call says %q", again.Content)
		}
	}
}

func TestCancelledThinkSaysWhy(t *testing.T) {
	a, _ := scripted(t, `rules: [{reply: {hang: true}}]`)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user left")
	cancel(why)
	reply, err := a.Think(ctx, conversation.Request{Conversation: conversation.Messages{}, Prompt: "a"})
	if !errors.Is(err, why) {
		t.Errorf("it ended with %v", err)
	}
	if diff := cmp.Diff(conversation.Messages{backends.User("a")}, reply.Conversation); diff != "" {
		t.Error(diff)
	}
}

func TestCutMessageIsWarnedOf(t *testing.T) {
	a, _ := scripted(t, `rules: [{reply: {text: half an, finish: length}}]`)
	reply := think(t, a, conversation.Request{Prompt: "a"})
	want := []string{"message 1 of the model was cut at its max_tokens: what it says may be incomplete"}
	if diff := cmp.Diff(want, reply.Warnings); diff != "" || reply.Content != "half an" {
		t.Errorf("%q:\n%s", reply.Content, diff)
	}
}

// TestReplyInJSON has the form of seed 001.
func TestReplyInJSON(t *testing.T) {
	var req conversation.Request
	if err := json.Unmarshal([]byte(`{"prompt":"Hello","conversation":[],"tools":["search"]}`), &req); err != nil {
		t.Fatal(err)
	}
	a, _ := scripted(t, `rules: [{reply: {text: "Hi there!", usage: {input_tokens: 1, output_tokens: 2}}}]`, names("search"))
	data, err := json.Marshal(think(t, a, req))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"content":"Hi there!","conversation":[{"role":"user","content":"Hello"},` +
		`{"role":"assistant","content":"Hi there!","has_tool_calls":false}],"has_tool_calls":false,` +
		`"usage":{"calls":1,"input_tokens":1,"output_tokens":2,"cached_input_tokens":0,"unknown_calls":0,"cost_usd":null}}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
}

// says is a backend whose stream is always the same.
type says iter.Seq2[backends.Event, error]

func (s says) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return iter.Seq2[backends.Event, error](s)
}
