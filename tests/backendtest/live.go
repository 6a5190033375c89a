package backendtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
)

// Live is a service that RunLive is to call, with a model of its own.
type Live struct {
	Backend backends.Backend
	Model   string
	// Force is what a request says, beside all else, to have the model call a tool.
	Force map[string]any
	// Signs reports whether the model's thinking has opaque parts, which have to come back.
	Signs bool
	// Hosts reports whether the service searches the web and runs code, Sees whether the model takes pictures
	// and PDFs.
	Hosts, Sees bool
	// Efforts are the model's words for reasoning_effort.
	Efforts []string
}

// liveCheck is one check, with what it needs of a service: "" for nothing.
type liveCheck struct {
	name  string
	run   func(*testing.T, Live)
	needs string
	use   LiveUse
}

// LiveUse is what a check asks of a service, estimated: its calls, and their tokens and hosted tools.
type LiveUse struct {
	Calls int
	backends.Usage
}

// small and thoughtful are the uses of calls that write little and of calls that think.
func small(calls, input int) LiveUse { return use(calls, input, liveTokens/4) }

func thoughtful(calls, input int) LiveUse { return use(calls, input, thinkingTokens/2) }

func use(calls, input, output int) LiveUse {
	return LiveUse{Calls: calls, Usage: backends.Usage{InputTokens: calls * input, OutputTokens: calls * output}}
}

func (u LiveUse) searching(searches, runs int) LiveUse {
	u.WebSearches, u.CodeRuns = searches, runs
	return u
}

func (s Live) checks() []liveCheck {
	sees, hosts, thinks := "", "", ""
	if !s.Sees {
		sees = "its model need not take pictures"
	}
	if !s.Hosts {
		hosts = "it need not have hosted tools"
	}
	if len(s.Efforts) == 0 {
		thinks = "no words for the effort of its model are known"
	}
	return []liveCheck{
		{"text", liveText, "", small(1, 200)},
		{"usage", liveUsage, "", small(1, 200)},
		{"tool call", liveToolCall, "", small(1, 500)},
		{"parallel tool calls", liveParallel, "", small(1, 500)},
		{"tool result turn", liveToolResult, "", small(2, 600)},
		{"reasoning round trip", liveReasoning, "", thoughtful(2, 1500)},
		{"cancel in mid-stream", liveCancel, "", small(2, 200)},
		{"schema", liveSchema, "", thoughtful(1, 500)},
		{"efforts", liveEfforts, thinks, thoughtful(len(s.Efforts), 200)},
		{"picture", livePicture, sees, thoughtful(1, 1500)},
		{"PDF", livePDF, sees, thoughtful(1, 5000)},
		{"picture of a tool", liveToolPicture, sees, thoughtful(2, 1500)},
		{"web search", liveSearch, hosts, thoughtful(2, 20_000).searching(2, 0)},
		{"code execution", liveCode, hosts, thoughtful(2, 3000).searching(0, 2)},
	}
}

// Uses returns what the checks of RunLive ask of the service.
func (s Live) Uses() (uses []LiveUse) {
	for _, c := range s.checks() {
		if c.needs == "" {
			uses = append(uses, c.use)
		}
	}
	return uses
}

// RunLive runs the checks of the suite that a real model can pass. They make few calls, which Uses
// counts, and accept any wording. RunLive logs each check that the service need not pass, and runs the others.
func RunLive(t *testing.T, s Live) {
	for _, c := range s.checks() {
		if c.needs != "" {
			t.Logf("%s is left out: %s", c.name, c.needs)
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}

const (
	// livePatience is how long a call of a real model may take.
	livePatience = 2 * time.Minute
	// liveTokens is what an answer may have, and thinkingTokens what it may have with
	// the thoughts that a model was asked for.
	liveTokens     = 1024
	thinkingTokens = 4096
)

func (s Live) request(question string, tools ...backends.Tool) backends.Request {
	most := liveTokens
	return backends.Request{
		Key:   ask().Key,
		Model: s.Model,
		Messages: []backends.Message{
			backends.System("You are terse. Use the tools where you are told to."), backends.User(question),
		},
		Tools:  tools,
		Params: backends.Params{MaxTokens: &most},
	}
}

// forced is a request that a model answers with a tool call.
func (s Live) forced(question string, tools ...backends.Tool) backends.Request {
	req := s.request(question, tools...)
	req.Params.ExtraBody = s.Force
	return req
}

func (s Live) mustCall(t *testing.T, req backends.Request) backends.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), livePatience)
	defer cancel()
	resp, err := backends.Collect(s.Backend.Stream(ctx, req), nil)
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
	return resp
}

func adder() backends.Tool {
	return backends.Tool{
		Name: "add", Description: "Adds two numbers.",
		Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
	}
}

func liveText(t *testing.T, s Live) {
	resp := s.mustCall(t, s.request("Reply with the word: pong"))
	if strings.TrimSpace(resp.Message.Text()) == "" || resp.Finish == "" {
		t.Errorf("the answer is %q, its finish reason %q", resp.Message.Text(), resp.Finish)
	}
}

func liveUsage(t *testing.T, s Live) {
	u := s.mustCall(t, s.request("Reply with the word: pong")).Usage
	if u == nil || u.InputTokens < 1 || u.OutputTokens < 1 || u.CachedInputTokens > u.InputTokens {
		t.Errorf("the usage is %+v", u)
	}
}

func liveToolCall(t *testing.T, s Live) {
	s.callAdder(t, s.forced("Use the tool to add 2 and 3.", adder()), 1)
}

// callAdder makes a request that has to be answered with so many calls of the adder.
func (s Live) callAdder(t *testing.T, req backends.Request, atLeast int) backends.Message {
	t.Helper()
	message := s.mustCall(t, req).Message
	ids := map[string]bool{}
	for _, c := range message.ToolCalls() {
		var arguments map[string]any
		if err := json.Unmarshal([]byte(c.Arguments), &arguments); err != nil || c.Name != "add" || c.ID == "" {
			t.Errorf("a call is %+v", c)
		}
		ids[c.ID] = true
	}
	if calls := message.ToolCalls(); len(calls) < atLeast || len(ids) < len(calls) {
		t.Fatalf("the answer has %d calls with %d ids, want %d: %q", len(calls), len(ids), atLeast, message.Text())
	}
	return message
}

func liveParallel(t *testing.T, s Live) {
	s.callAdder(t, s.forced("Use the tool twice, at once and in the same message: add 2 and 3, and add 40 and 50.", adder()), 2)
}

func liveToolResult(t *testing.T, s Live) {
	s.mustGoOn(t, s.forced("Use the tool to add 2 and 3, then tell me the sum.", adder()))
}

// mustGoOn answers the calls that a request is answered with, and asks again.
func (s Live) mustGoOn(t *testing.T, req backends.Request) (first, second backends.Message) {
	t.Helper()
	first = stored(t, s.callAdder(t, req, 1))
	results := backends.Message{Role: backends.RoleTool}
	for _, c := range first.ToolCalls() {
		results.Parts = append(results.Parts, backends.ToolResult{CallID: c.ID, Name: c.Name, Content: sum(t, c.Arguments)})
	}
	req.Messages = append(req.Messages, first, results)
	req.Params.ExtraBody = nil
	second = s.mustCall(t, req).Message
	if strings.TrimSpace(second.Text()) == "" && len(second.ToolCalls()) == 0 {
		t.Error("the answer to the result is empty")
	}
	return first, second
}

func sum(t *testing.T, arguments string) string {
	t.Helper()
	var terms struct{ A, B float64 }
	if err := json.Unmarshal([]byte(arguments), &terms); err != nil {
		return "Error: " + err.Error()
	}
	return fmt.Sprint(terms.A + terms.B)
}

// stored returns a message as it comes out of a store.
func stored(t *testing.T, m backends.Message) backends.Message {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out backends.Message
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// liveReasoning has a model think before it calls the tool, and sends back what it
// thought. A model that thinks cannot be forced.
func liveReasoning(t *testing.T, s Live) {
	req := s.request("Which is the sum of 12345 and 54322? Use the tool to add them, then tell me the sum.", adder())
	most := thinkingTokens
	req.Params.MaxTokens, req.Params.ReasoningEffort = &most, "low"
	first, second := s.mustGoOn(t, req)
	opaque := false
	for _, p := range first.Parts {
		_, is := p.(backends.Opaque)
		opaque = opaque || is
	}
	if opaque != s.Signs {
		t.Errorf("the first message has opaque parts: %t, want %t", opaque, s.Signs)
	}
	if said := second.Text(); !strings.Contains(strings.NewReplacer(",", "", ".", "", " ", "").Replace(said), "66667") {
		t.Errorf("the sum of 12345 and 54322 is told as %q", said)
	}
}

// liveCancel ends a long answer at its first event, and calls again.
func liveCancel(t *testing.T, s Live) {
	ctx, cancel := context.WithTimeout(t.Context(), livePatience)
	defer cancel()
	var since time.Time
	_, err := backends.Collect(s.Backend.Stream(ctx, s.request("Count from 1 to 1000 in words.")), func(backends.Event) {
		if since.IsZero() {
			since = time.Now()
			cancel()
		}
	})
	if kind := backends.KindOf(err); kind != backends.KindCancelled {
		t.Errorf("the call ended with %v", err)
	}
	if took := time.Since(since); took > patience {
		t.Errorf("it took %s to end", took)
	}
	liveText(t, s)
}
