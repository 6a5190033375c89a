package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

// forecaster is a model that asks for the weather of two towns at once, if it may, and then says
// what it was told. As a member of a panel it answers and votes for the first answer.
type forecaster struct {
	before  string // what it says before it asks for the weather
	mu      sync.Mutex
	offered map[string][]string // the tools of its calls, by purpose
}

func (f *forecaster) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	var tools []string
	for _, t := range req.Tools {
		tools = append(tools, t.Name)
	}
	f.mu.Lock()
	if f.offered == nil {
		f.offered = map[string][]string{}
	}
	f.offered[req.Key.Purpose] = tools
	f.mu.Unlock()
	var events []backends.Event
	call := func(name, arguments string) {
		events = append(events, backends.ToolCall{ID: fmt.Sprint(len(events)), Name: name, Arguments: arguments})
	}
	var told []string
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			if r, ok := part.(backends.ToolResult); ok {
				told = append(told, r.Content)
			}
		}
	}
	switch {
	case slices.Contains(tools, effect.NewAnswer) && !strings.Contains(fmt.Sprint(req.Messages), "It depends."):
		call(effect.NewAnswer, `{"content":"It depends."}`)
	case slices.Contains(tools, effect.Vote):
		call(effect.Vote, `{"agent_id":"agent1","reason":"true"}`)
	case len(told) == 0 && slices.Contains(tools, "weather"):
		if f.before != "" {
			events = append(events, backends.TextDelta{Text: f.before})
		}
		call("weather", `{"town":"Rome"}`)
		call("weather", `{"town":"Oslo"}`)
	default:
		events = append(events, backends.TextDelta{Text: "I was told: " + strings.Join(told, ", ")})
	}
	return func(yield func(backends.Event, error) bool) {
		for _, ev := range append(events, backends.Usage{InputTokens: 10, OutputTokens: 5, ReasoningTokens: 3}, backends.Finish{Reason: "stop"}) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// forecasters are the models "pair" and "one" whose agents are a forecaster.
func forecasters(f *forecaster) func(*server.Settings) {
	return func(s *server.Settings) {
		panel := func(kept *sessions.Store, ids ...string) func(context.Context) (*massgen.Panel, error) {
			return func(ctx context.Context) (*massgen.Panel, error) {
				var list []massgen.Agent
				for _, id := range ids {
					list = append(list, massgen.Agent{ID: id, Model: "m", Backend: f})
				}
				return massgen.New(ctx, list, massgen.WithStore(kept))
			}
		}
		s.Models = []server.Model{
			{ID: "pair", Created: time.Unix(1, 0), Open: panel(s.Store, "ada", "bob")}, {ID: "one", Open: panel(s.Store, "ada")},
		}
	}
}

const weatherTool = `"tools":[{"type":"function","function":{"name":"weather","description":"the weather of a town","parameters":{"type":"object","properties":{"town":{"type":"string"}}}}}]`

// called is a message that asks for calls of tools.
type called struct {
	Choices []struct {
		Message struct {
			Content   *string
			ToolCalls []struct {
				ID       string
				Type     string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		Total  int `json:"total_tokens"`
		Output struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
}

// results is a request that goes on with the results of calls.
func results(t *testing.T, model string, first string, count int) string {
	t.Helper()
	c := decode[called](t, first).Choices[0].Message
	messages := []any{
		map[string]any{"role": "user", "content": "How is the weather?"},
		json.RawMessage(`{"role":"assistant","content":null,"tool_calls":[]}`),
	}
	for i, call := range c.ToolCalls[:count] {
		messages = append(messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": fmt.Sprintf("%d degrees", i)})
	}
	data, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	return `{"model":"` + model + `",` + weatherTool + `,"messages":` + string(data) + `}`
}

func question(model string) string {
	return `{"model":"` + model + `",` + weatherTool + `,"messages":[{"role":"user","content":"How is the weather?"}]}`
}

// TestClientRunsItsTools in the middle of a turn, of one agent and of a panel: there the agent that
// presents the answer alone is offered them.
func TestClientRunsItsTools(t *testing.T) {
	for _, model := range []string{"one", "pair"} {
		f := &forecaster{}
		s := serve(t, forecasters(f))
		first := s.chat(t, question(model))
		c := decode[called](t, first.body)
		if len(c.Choices) != 1 || c.Choices[0].FinishReason != "tool_calls" || len(c.Choices[0].Message.ToolCalls) != 2 ||
			c.Choices[0].Message.ToolCalls[1].Function.Arguments != `{"town":"Oslo"}` || c.Choices[0].Message.Content != nil {
			t.Fatalf("%s: %s", model, first.body)
		}
		second := s.chat(t, results(t, model, first.body, 2))
		a := decode[called](t, second.body)
		if second.status != http.StatusOK || *a.Choices[0].Message.Content != "I was told: 0 degrees, 1 degrees" || second.session() != first.session() {
			t.Errorf("%s: %s", model, second.body)
		}
		kept, err := s.store.Session(t.Context(), first.session())
		if err != nil || kept.Turns != 1 || kept.Usage.InputTokens+kept.Usage.OutputTokens != c.Usage.Total+a.Usage.Total {
			t.Errorf("%s: the session has %+v, %v; the responses %d and %d tokens", model, kept, err, c.Usage.Total, a.Usage.Total)
		}
		if before, after := c.Usage.Output.Reasoning, a.Usage.Output.Reasoning; after != 3 || before+after != kept.Usage.ReasoningTokens {
			t.Errorf("%s: the responses have %d and %d tokens of reasoning, the session %d", model, before, after, kept.Usage.ReasoningTokens)
		}
		if slices.Contains(f.offered["coordination"], "weather") {
			t.Errorf("%s: all agents are offered %v", model, f.offered)
		}
	}
}

func TestStreamEndsWithCalls(t *testing.T) {
	s := serve(t, forecasters(&forecaster{}))
	r := s.chat(t, strings.Replace(question("one"), "{", `{"stream":true,`, 1))
	if !strings.Contains(r.body, `"tool_calls":[{"index":0,"id":"call_`) || !strings.Contains(r.body, `{"index":1,"id":"call_`) ||
		!strings.Contains(r.body, `"finish_reason":"tool_calls"`) || !strings.HasSuffix(r.body, "data: [DONE]\n\n") {
		t.Error(r.body)
	}
}

func TestResultsAreRefused(t *testing.T) {
	s := serve(t, forecasters(&forecaster{}))
	first := s.chat(t, question("one"))
	if r := s.chat(t, results(t, "one", first.body, 1)); r.status != http.StatusBadRequest || !strings.Contains(r.body, "the result of the call") {
		t.Errorf("one of two results: %s", r.body)
	}
	if r := s.chat(t, results(t, "one", first.body, 2)); r.status != http.StatusOK {
		t.Errorf("both results: %s", r.body)
	}
	if r := s.chat(t, results(t, "one", first.body, 2)); r.status != http.StatusConflict {
		t.Errorf("both results again: %s", r.body)
	}
	for body, want := range map[string]string{
		`{"model":"one","messages":[{"role":"user","content":"?"},{"role":"tool","tool_call_id":"call_x","content":"1"}]}`:                                        "no call that this server has asked for",
		`{"model":"one","tools":[{"type":"function","function":{"name":"a b"}}],"messages":[{"role":"user","content":"?"}]}`:                                      "tools[0]",
		`{"model":"one","tools":[{"type":"web_search"}],"messages":[{"role":"user","content":"?"}]}`:                                                              "functions only",
		`{"model":"one","tool_choice":"required","messages":[{"role":"user","content":"?"}]}`:                                                                     "tool_choice",
		`{"model":"one","tools":[{"type":"function","function":{"name":"by_text","parameters":{"type":"string"}}}],"messages":[{"role":"user","content":"?"}]}`:   "cannot be sent the tool by_text",
		`{"model":"pair","tools":[{"type":"function","function":{"name":"by_list","parameters":{"type":["array"]}}}],"messages":[{"role":"user","content":"?"}]}`: "cannot be sent the tool by_list",
		`{"model":"pair","tools":[{"type":"function","function":{"name":"vote"}}],"messages":[{"role":"user","content":"?"}]}`:                                    "vote",
		`{"model":"one","tools":[{"type":"function","function":{"name":"a","parameters":[]}}],"messages":[{"role":"user","content":"?"}]}`:                        "JSON Schema",
	} {
		if r := s.chat(t, body); r.status != http.StatusBadRequest || !strings.Contains(r.body, want) {
			t.Errorf("%s: status %d, %s, without %q", body, r.status, r.body, want)
		}
	}
}

// TestResultsReachAnotherServer: the turn that a lost process has left waits for them in the store.
func TestResultsReachAnotherServer(t *testing.T) {
	f := &forecaster{}
	first := serve(t, forecasters(f))
	r := first.chat(t, question("one"))
	moved := store.InMemory("", func(text string) string { return text }).Sessions
	copyInterrupted(t, first.store, moved, r.session())
	second := serve(t, func(s *server.Settings) {
		s.Store = moved
		forecasters(f)(s)
	})
	a := second.chat(t, results(t, "one", r.body, 2))
	if a.status != http.StatusOK || !strings.Contains(a.body, "I was told: 0 degrees, 1 degrees") {
		t.Error(a.body)
	}
	checkUsage(t, moved, r, a)
}

// checkUsage fails if the responses of a session's turn do not have its whole usage, and each part of it once.
func checkUsage(t *testing.T, store *sessions.Store, responses ...reply) {
	t.Helper()
	kept, err := store.Session(t.Context(), responses[0].session())
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, r := range responses {
		total += decode[called](t, r.body).Usage.Total
	}
	if total != kept.Usage.InputTokens+kept.Usage.OutputTokens {
		t.Errorf("the responses have %d tokens, the session %d and %d", total, kept.Usage.InputTokens, kept.Usage.OutputTokens)
	}
}

// stuck is a forecaster that holds its second call until its channel is closed.
type stuck struct {
	*forecaster
	reached, until chan struct{}
	calls          atomic.Int32
}

// Stream implements backends.Backend.
func (s *stuck) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	if s.calls.Add(1) == 2 {
		close(s.reached)
		select {
		case <-s.until:
		case <-ctx.Done():
		}
	}
	return s.forecaster.Stream(ctx, req)
}

// TestUsageIsToldOnceThoughResultsComeTwice: the first process had the results, and was lost before its response.
func TestUsageIsToldOnceThoughResultsComeTwice(t *testing.T) {
	model := &stuck{forecaster: &forecaster{}, reached: make(chan struct{}), until: make(chan struct{})}
	with := func(b backends.Backend) func(*server.Settings) {
		return func(s *server.Settings) {
			kept := s.Store
			s.Models = []server.Model{{ID: "one", Open: func(ctx context.Context) (*massgen.Panel, error) {
				return massgen.New(ctx, []massgen.Agent{{ID: "ada", Model: "m", Backend: b}}, massgen.WithStore(kept))
			}}}
		}
	}
	first := serve(t, with(model))
	r := first.chat(t, question("one"))
	sent := make(chan reply, 1)
	go func() { sent <- first.chat(t, results(t, "one", r.body, 2)) }()
	<-model.reached
	moved := store.InMemory("", func(text string) string { return text }).Sessions
	copyInterrupted(t, first.store, moved, r.session())
	second := serve(t, func(s *server.Settings) {
		s.Store = moved
		with(&forecaster{})(s)
	})
	checkUsage(t, moved, r, second.chat(t, results(t, "one", r.body, 2)))
	close(model.until)
	checkUsage(t, first.store, r, <-sent)
}

// TestResultsAreTakenOfATurnThatWasAskedFor on another server before they came: it goes on with the tools
// that it was begun with.
func TestResultsAreTakenOfATurnThatWasAskedFor(t *testing.T) {
	f := &forecaster{}
	first := serve(t, forecasters(f))
	tools := strings.NewReplacer(`"function":{`, "", "}}}}]", "}}}]").Replace(weatherTool)
	asked, r := first.respond(t, `{"model":"pair",`+tools+`,"input":"How is the weather?"}`)
	called := decode[struct {
		Output []struct {
			CallID string `json:"call_id"`
		}
	}](t, r.body)
	var results []string
	for _, item := range called.Output {
		if item.CallID != "" {
			results = append(results, fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"%d degrees"}`, item.CallID, len(results)))
		}
	}
	moved := store.InMemory("", func(text string) string { return text }).Sessions
	copyInterrupted(t, first.store, moved, r.session())
	second := serve(t, func(s *server.Settings) {
		s.Store = moved
		forecasters(f)(s)
	})
	for range 2 {
		if shown := decode[response](t, second.do(t, http.MethodGet, "/v1/responses/"+asked.ID, "").body); shown.Status != "in_progress" {
			t.Errorf("the response is %+v", shown)
		}
	}
	if a, r := second.respond(t, `{"model":"pair","input":[`+strings.Join(results, ",")+`]}`); a.text() != "I was told: 0 degrees, 1 degrees" || a.Status != "completed" || a.Usage.Output.Reasoning != 3 {
		t.Error(r.body)
	}
}

// copyInterrupted copies a session whose turn has not ended: in the copy nobody plays it.
func copyInterrupted(t *testing.T, from, to *sessions.Store, session string) {
	t.Helper()
	var dump strings.Builder
	if err := from.Export(t.Context(), session, &dump); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Import(t.Context(), strings.NewReader(dump.String()), ""); err != nil {
		t.Fatal(err)
	}
}

// failing is a model whose calls fail for good.
type failing struct{}

func (failing) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		yield(nil, &backends.Error{Kind: backends.KindBadRequest, Err: errors.New("no such model")})
	}
}

// TestFailedTurnIsNotAskedAgain by a client of its own accord: that would cost the same again.
func TestFailedTurnIsNotAskedAgain(t *testing.T) {
	s := serve(t, func(s *server.Settings) {
		s.Models = []server.Model{{ID: "one", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "ada", Model: "m", Backend: failing{}}}, massgen.WithStore(s.Store))
		}}}
	})
	r := s.chat(t, question("one"))
	if r.status != http.StatusBadGateway || r.header.Get("X-Should-Retry") != "false" {
		t.Errorf("status %d, %v: %s", r.status, r.header, r.body)
	}
}
