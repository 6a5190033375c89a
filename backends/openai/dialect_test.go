package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// dialects are those of the scripts in testdata/requests: OpenAI's, that of nobody
// known, and one with every oddity.
func dialects() map[string]openai.Dialect {
	chat, responses := openai.OpenAI(), openai.OpenAI()
	chat.API, responses.API = "chat", "responses"
	return map[string]openai.Dialect{
		"openai":           openai.OpenAI(),
		"chat":             chat,
		"responses":        {API: "responses"},
		"responses-openai": responses,
		"compatible":       openai.Compatible(),
		"odd": {
			All: openai.Limits{NoSeed: true, MaxStop: 1, MaxTemperature: 1},
			Models: []openai.ModelLimits{
				{Names: "fine", Limits: openai.Limits{}},
				{Names: "text-", Limits: openai.Limits{NoImages: true, NoStop: true, NoEfforts: true}},
				{Names: "thinker other-thinker", Limits: openai.Limits{FixedSampling: true, Reasons: true, NoToolsInReasoning: true, Efforts: "low high"}},
			},
			NoStreamUsage: true, JSONObject: true, WholeJSON: true, NineLetterIDs: true,
			Reasoning: openai.ReasoningContent, NeedsReasoning: true,
			NoThinking: map[string]any{"thinking": map[string]string{"type": "disabled"}},
		},
		"budget":  {BudgetField: "budget", Thinking: map[string]any{"think": true}, NoThinking: map[string]any{"think": false}},
		"seeded":  {SeedField: "random_seed"},
		"details": {Reasoning: openai.ReasoningDetails},
	}
}

// TestRequests sends the requests of testdata/requests in a dialect, and shows the
// body of each, or the error that it gets before anything is sent.
func TestRequests(t *testing.T) {
	datadriven.Walk(t, "testdata/requests", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var dialect string
			d.ScanArgs(t, "dialect", &dialect)
			var req backends.Request
			if err := json.Unmarshal([]byte(d.Input), &req); err != nil {
				d.Fatalf(t, "%v", err)
			}
			if len(req.Messages) == 0 {
				req.Messages = []backends.Message{backends.User("go")}
			}
			return sentBody(t, dialects()[dialect], req)
		})
	})
}

const wholeAnswer = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func sentBody(t *testing.T, dialect openai.Dialect, req backends.Request) string {
	backend := newDialect(t, dialect, openai.Config{Provider: "service", Transport: backendtest.Canned{
		Status: 200, Body: func() io.Reader { return strings.NewReader(wholeAnswer) },
	}})
	var out bytes.Buffer
	ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(body []byte) {
		out.Write(body)
		out.WriteByte('\n')
	}})
	_, err := backends.Collect(backend.Stream(ctx, req), nil)
	var e *backends.Error
	if errors.As(err, &e) {
		out.WriteString(err.Error() + "\n")
		if e.NoTools {
			out.WriteString("(it takes no tools)\n")
		}
	}
	return out.String()
}

// Without a dialect, OpenAI's own address has OpenAI's.
func TestDialectOfTheAddress(t *testing.T) {
	most := 5
	for address, want := range map[string]string{
		"": "max_completion_tokens", "https://api.openai.com/v1/": "max_completion_tokens", "https://example.com/v1": "max_tokens",
	} {
		body := ""
		backend := newBackend(t, openai.Config{BaseURL: address, Transport: backendtest.Canned{
			Status: 200, Body: func() io.Reader { return strings.NewReader(wholeAnswer) },
		}})
		ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(b []byte) { body = string(b) }})
		req := simple()
		req.Params.MaxTokens = &most
		if _, err := backends.Collect(backend.Stream(ctx, req), nil); err != nil || !strings.Contains(body, `"`+want+`":5`) {
			t.Errorf("%q is sent %s, %v", address, body, err)
		}
	}
}

// TestCheckIsWhatIsRefused: what Check lets through is sent, and what it refuses is
// not, in the same words.
func TestCheckIsWhatIsRefused(t *testing.T) {
	t.Parallel()
	half, seed := 0.5, int64(1)
	refused := 0
	for _, params := range []backends.Params{
		{ReasoningSummary: "auto"}, {Verbosity: "low"},
		{}, {Temperature: &half}, {TopP: &half}, {Seed: &seed}, {Stop: []string{"a", "b"}},
		{ReasoningEffort: "none"}, {ReasoningEffort: "low", Temperature: &half}, {ReasoningEffort: "max"},
	} {
		for name, dialect := range dialects() {
			for _, model := range []string{"o3", "gpt-4o", "gpt-5.1", "a/Gpt-6-Sol", "thinker", "text-1", "m"} {
				want := ""
				if err := dialect.Check(model, params); err != nil {
					refused++
					want = "service: bad request: " + err.Error() + "\n"
				}
				got := sentBody(t, dialect, backends.Request{Model: model, Messages: []backends.Message{backends.User("go")}, Params: params})
				if want != "" && got != want || want == "" && !strings.HasPrefix(got, "{") {
					t.Errorf("%s in %s with %+v: %s, want %s", model, name, params, got, want)
				}
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d were refused", refused)
	}
}

func TestServiceWithoutStreamUsageIsAskedWithout(t *testing.T) {
	server := backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		if strings.Contains(string(c.Body), "stream_options") {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "Unrecognized request argument supplied: stream_options"}}
		}
		return backendtest.Reply{Text: "now"}
	})
	backend := newBackend(t, openai.Config{BaseURL: server.BaseURL})
	resp, err := backends.Collect(backend.Stream(t.Context(), simple()), nil)
	if err != nil || resp.Message.Text() != "now" || len(server.Calls()) != 2 {
		t.Fatalf("%d calls give %+v, %v", len(server.Calls()), resp, err)
	}
	if _, err := backends.Collect(backend.Stream(t.Context(), simple()), nil); err != nil || len(server.Calls()) != 3 {
		t.Errorf("the refusal is forgotten: %d calls, %v", len(server.Calls()), err)
	}
	if diff := cmp.Diff(`{"messages":[{"role":"user","content":"hi"}],"model":"m","stream":true}`, string(server.Bodies()[1])); diff != "" {
		t.Error(diff)
	}
}

// TestReasoningGoesBack sends an answer with reasoning and a tool call back to the
// service that gave it, and to another model.
func TestReasoningGoesBack(t *testing.T) {
	const details = `data: {"choices":[{"delta":{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"x","index":0}]}}]}

data: {"choices":[{"delta":{"reasoning":"see","reasoning_details":[{"type":"reasoning.text","text":"see","index":0},{"type":"reasoning.text","signature":"s<1>","index":0}]}}]}

data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"abc","id":"rs_1","index":1,"stamp":1234567890123456789}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"vote","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

`
	const content = `data: {"choices":[{"delta":{"reasoning_content":"I see"}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"abcdefgh1","function":{"name":"vote","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

`
	for _, c := range []struct{ dialect, stream, want, other string }{
		{"details", details, `"reasoning_details":[{"format":"x","index":0,"signature":"s<1>","text":"I see","type":"reasoning.text"},` +
			`{"data":"abc","id":"rs_1","index":1,"stamp":1234567890123456789,"type":"reasoning.encrypted"}]}`, ""},
		{"odd", content, `"reasoning_content":"I see"}`, `"reasoning_content":" "}`},
		{"seeded", content, "", ""},
	} {
		dialect := dialects()[c.dialect]
		var bodies []string
		backend := newDialect(t, dialect, openai.Config{Provider: "service", Transport: backendtest.Canned{
			Status: 200, Body: func() io.Reader { return strings.NewReader(c.stream) },
		}})
		ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(body []byte) { bodies = append(bodies, string(body)) }})
		req := simple()
		first, err := backends.Collect(backend.Stream(ctx, req), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, first.Message)
		for _, model := range []string{"m", "another"} {
			req.Model = model
			if _, err := backends.Collect(backend.Stream(ctx, req), nil); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{c.want, c.other} {
			if body := bodies[i+1]; !strings.Contains(body, want) || want == "" && strings.Contains(body, "reasoning") {
				t.Errorf("%s, request %d: %s\nlacks, or has too much for, %s", c.dialect, i+1, body, want)
			}
		}
	}
}

func TestReasoningTokensBesideTheOthers(t *testing.T) {
	for usage, want := range map[string]backends.Usage{
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":115,"completion_tokens_details":{"reasoning_tokens":100}}`:   {InputTokens: 10, OutputTokens: 105, ReasoningTokens: 100},
		`{"prompt_tokens":10,"completion_tokens":105,"total_tokens":115,"completion_tokens_details":{"reasoning_tokens":100}}`: {InputTokens: 10, OutputTokens: 105, ReasoningTokens: 100},
		`{"prompt_tokens":10,"completion_tokens":105,"completion_tokens_details":{"reasoning_tokens":100}}`:                    {InputTokens: 10, OutputTokens: 105, ReasoningTokens: 100},
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`:                                                         {InputTokens: 10, OutputTokens: 5},
	} {
		body := `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":` + usage + `}`
		backend := newBackend(t, openai.Config{Transport: backendtest.Canned{Status: 200, Body: func() io.Reader { return strings.NewReader(body) }}})
		resp, err := backends.Collect(backend.Stream(t.Context(), simple()), nil)
		if err != nil || resp.Usage == nil || *resp.Usage != want {
			t.Errorf("%s gives %+v, %v; want %+v", usage, resp.Usage, err, want)
		}
	}
}
