package gemini_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/tests/backendtest"
)

// sent calls a model with req and returns the body, as the server and as the trace
// saw it.
func sent(t *testing.T, req backends.Request) string {
	t.Helper()
	server := backendtest.NewProtocolServer(t, backendtest.GenerateContent(), func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Text: "x"}
	})
	backend := newBackend(t, gemini.Config{Provider: "google", BaseURL: server.BaseURL, Model: "gemini-3-flash"})
	var traced []byte
	ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(b []byte) { traced = append(traced, b...) }})
	if _, err := backends.Collect(backend.Stream(ctx, req), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(traced), string(server.Bodies()[0])); diff != "" {
		t.Errorf("the trace differs from the body (-trace +body):\n%s", diff)
	}
	return string(traced)
}

// TestTwoAnswersAreOneContent sends a call that follows another message of the model,
// which the service would refuse.
func TestTwoAnswersAreOneContent(t *testing.T) {
	call := backends.ToolCall{ID: "a", Name: "x", Arguments: "{}"}
	got := sent(t, backends.Request{Model: "gemini-2.5-flash", Messages: []backends.Message{
		backends.User("u"), backends.Assistant("I look."),
		{Role: backends.RoleAssistant, Parts: []backends.Part{call}},
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "a", Name: "x", Content: "1"}}},
	}})
	want := `{"contents":[{"role":"user","parts":[{"text":"u"}]},` +
		`{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"a","name":"x","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"x","response":{"output":"1"}}}]}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWholeBody(t *testing.T) {
	temperature, topP, most, seed := 0.0, 0.123456789012, 100, int64(-7)
	got := sent(t, backends.Request{
		Messages: []backends.Message{
			backends.System("<a> & b"), backends.System("more"),
			{Role: backends.RoleUser, Parts: []backends.Part{
				backends.Text{Text: "look"},
				backends.Image{MediaType: "image/png", Data: []byte{0, 1}},
				backends.Image{MediaType: "image/jpeg", URL: "https://example.com/a.jpg"},
				backends.Image{URL: "data:image/gif;base64,AAE="},
			}},
			{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Reasoning{Text: "hm"}}},
			backends.User(""),
		},
		Tools: []backends.Tool{
			{Name: "z", Description: "last", Schema: json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}},"additionalProperties":false}`)},
			{Name: "a"},
		},
		Params: backends.Params{
			Temperature: &temperature, TopP: &topP, MaxTokens: &most, Stop: []string{"END"}, Seed: &seed, ReasoningEffort: "low",
			ExtraBody: map[string]any{
				"safetySettings":   []any{map[string]any{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}},
				"generationConfig": map[string]any{"topK": 3, "seed": nil, "thinkingConfig": map[string]any{"includeThoughts": false}},
			},
		},
	})
	const want = `{"contents":[{"role":"user","parts":[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"AAE="}},` +
		`{"fileData":{"mimeType":"image/jpeg","fileUri":"https://example.com/a.jpg"}},{"inlineData":{"mimeType":"image/gif","data":"AAE="}}]},` +
		`{"role":"user","parts":[{"text":""}]}],` +
		`"generationConfig":{"maxOutputTokens":100,"stopSequences":["END"],"temperature":0,` +
		`"thinkingConfig":{"includeThoughts":false,"thinkingLevel":"LOW"},"topK":3,"topP":0.123456789012},` +
		`"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}],` +
		`"systemInstruction":{"parts":[{"text":"<a> & b"},{"text":"more"}]},` +
		`"tools":[{"functionDeclarations":[{"name":"z","description":"last","parametersJsonSchema":` +
		`{"type":"object","properties":{"b":{},"a":{}},"additionalProperties":false}},` +
		`{"name":"a","parametersJsonSchema":{"type":"object","properties":{}}}]}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the body differs (-want +got):\n%s", diff)
	}
}

// TestLeastBody: what nobody set is not sent.
func TestLeastBody(t *testing.T) {
	got := sent(t, backends.Request{Messages: []backends.Message{backends.User("hi")}})
	if diff := cmp.Diff(`{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, got); diff != "" {
		t.Error(diff)
	}
}

func TestSchemaOfTheReply(t *testing.T) {
	got := sent(t, backends.Request{
		Messages: []backends.Message{backends.User("hi")},
		Schema:   json.RawMessage(`{"type":"object","properties":{"z":{},"a":{"enum":["<b>"]}}}`),
	})
	const want = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"responseJsonSchema":` +
		`{"type":"object","properties":{"z":{},"a":{"enum":["<b>"]}}},"responseMimeType":"application/json"}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReasoningEffort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ model, effort, want string }{
		{"gemini-3-pro", "minimal", `{"includeThoughts":true,"thinkingLevel":"MINIMAL"}`},
		{"gemini-3.1-flash", "medium", `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-pro-latest", "high", `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-2.5-flash", "none", `{"includeThoughts":false,"thinkingBudget":0}`},
		{"gemini-2.5-pro", "low", `{"includeThoughts":true,"thinkingBudget":1024}`},
		{"models/gemini-2.5-flash", "medium", `{"includeThoughts":true,"thinkingBudget":8192}`},
		{"gemini-2.5-pro", "high", `{"includeThoughts":true,"thinkingBudget":24576}`},
	} {
		body := sent(t, backends.Request{Model: c.model, Params: backends.Params{ReasoningEffort: c.effort}})
		want := `{"contents":[],"generationConfig":{"thinkingConfig":` + c.want + `}}`
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("%s, %s:\n%s", c.model, c.effort, diff)
		}
	}
}

// TestReasoningTokens: Gemini 2.5 takes tokens, and a summary is asked for with them or alone.
func TestReasoningTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tokens          *int
		effort, summary string
		want            string
	}{
		{new(2000), "", "", `{"includeThoughts":true,"thinkingBudget":2000}`},
		{new(2000), "", "none", `{"includeThoughts":false,"thinkingBudget":2000}`},
		{nil, "", "auto", `{"includeThoughts":true}`},
		{nil, "low", "none", `{"includeThoughts":false,"thinkingBudget":1024}`},
		{nil, "none", "auto", `{"includeThoughts":false,"thinkingBudget":0}`},
	} {
		params := backends.Params{ReasoningTokens: c.tokens, ReasoningEffort: c.effort, ReasoningSummary: c.summary}
		body := sent(t, backends.Request{Model: "gemini-2.5-flash", Params: params})
		if diff := cmp.Diff(`{"contents":[],"generationConfig":{"thinkingConfig":`+c.want+`}}`, body); diff != "" {
			t.Errorf("%+v:\n%s", c, diff)
		}
	}
}

// TestParamsThatGeminiDoesNotTake are refused before anything is sent, by name.
func TestParamsThatGeminiDoesNotTake(t *testing.T) {
	backend := newBackend(t, gemini.Config{Transport: neverSent(t)})
	hot, none, large := 2.5, math.NaN(), int64(math.MaxInt32)+1
	for name, change := range map[string]func(*backends.Request){
		"temperature: ": func(r *backends.Request) { r.Params.Temperature = &hot },
		"top_p: ":       func(r *backends.Request) { r.Params.TopP = &none },
		"stop: ":        func(r *backends.Request) { r.Params.Stop = strings.Split("a b c d e f", " ") },
		"seed: ":        func(r *backends.Request) { r.Params.Seed = &large },
		"budget_tokens: gemini-3-pro takes a level": func(r *backends.Request) { r.Params.ReasoningTokens = new(1) },
		"reasoning_effort: Ge":                      func(r *backends.Request) { r.Params.ReasoningEffort = "xhigh" },
		"reasoning_effort: gemini-2.5-pro": func(r *backends.Request) {
			r.Model, r.Params.ReasoningEffort = "gemini-2.5-pro", "none"
		},
		`the schema of tool "t"`: func(r *backends.Request) { r.Tools = []backends.Tool{{Name: "t", Schema: []byte("{")}} },
		"encode the request: ":   func(r *backends.Request) { r.Params.ExtraBody = map[string]any{"f": func() {}} },
		"no model":               func(r *backends.Request) { r.Model = "" },
		"tModel: invalid":        func(r *backends.Request) { r.Model = "../../secret" },
	} {
		req := backends.Request{Model: "gemini-3-pro", Messages: []backends.Message{backends.User("hi")}}
		change(&req)
		if e := backendtest.Fail(t, backend, req); e.Kind != backends.KindBadRequest || !strings.HasPrefix(e.Message, name) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestForeignCalls: a model that asks for signatures is told that these calls have
// none, in the present turn only; what another provider or model kept is dropped.
func TestForeignCalls(t *testing.T) {
	t.Parallel()
	kept := func(provider, model string) backends.Part {
		return backends.Opaque{Provider: provider, Model: model, Data: json.RawMessage(`{"thoughtSignature":"QQ=="}`)}
	}
	called := func(id string, after ...backends.Part) []backends.Message {
		parts := append([]backends.Part{backends.ToolCall{ID: id, Name: "x", Arguments: "{}"}}, after...)
		parts = append(parts, backends.ToolCall{ID: id + "2", Name: "x", Arguments: "{}"})
		return []backends.Message{{Role: backends.RoleAssistant, Parts: parts}}
	}
	signed := func(signature string) string { return `},"thoughtSignature":"` + signature + `"}` }
	for _, c := range []struct {
		name, model string
		turn        []backends.Message
		want        string
	}{
		{"an unsigned call", "gemini-3-pro", called("a"), signed("skip_thought_signature_validator")},
		{"another provider's", "gemini-3-pro", called("a", kept("claude", "gemini-3-pro")), signed("skip_thought_signature_validator")},
		{"another model's", "gemini-3-pro", called("a", kept("google", "gemini-3-flash")), signed("skip_thought_signature_validator")},
		{"its own", "gemini-3-pro", called("a", kept("google", "gemini-3-pro")), signed("QQ==")},
		{"an earlier turn's", "gemini-3-pro", append(called("a"), backends.User("next")), "}}"},
		{"a model that asks for none", "gemini-2.5-pro", called("a"), "}}"},
		{"a model of another name", "test-model", called("a"), "}}"},
	} {
		req := backends.Request{Model: c.model, Messages: append([]backends.Message{backends.User("go")}, c.turn...)}
		body := sent(t, req)
		if want := `{"functionCall":{"id":"a","name":"x","args":{}` + c.want + `,{"functionCall":{"id":"a2","name":"x","args":{}}}`; !strings.Contains(body, want) {
			t.Errorf("%s: %s\nlacks %s", c.name, body, want)
		}
	}
}

// TestChangedTextHasNoSignature: what the signature was made for is not there any more.
func TestChangedTextHasNoSignature(t *testing.T) {
	body := sent(t, backends.Request{Model: "m", Messages: []backends.Message{
		backends.User("go"),
		{Role: backends.RoleAssistant, Parts: []backends.Part{
			backends.Text{Text: "one TWO"},
			backends.Opaque{Provider: "google", Model: "m", Data: json.RawMessage(`{"text":" two","thoughtSignature":"QQ=="}`)},
			backends.Opaque{Provider: "google", Model: "m", Data: json.RawMessage(`"not a part"`)},
		}},
	}})
	if want := `{"role":"model","parts":[{"text":"one TWO"}]}`; !strings.Contains(body, want) {
		t.Errorf("%s\nlacks %s", body, want)
	}
}

func TestFailedResult(t *testing.T) {
	body := sent(t, backends.Request{Messages: []backends.Message{
		backends.User("go"),
		{Role: backends.RoleAssistant, Parts: []backends.Part{backends.ToolCall{ID: "a", Name: "x", Arguments: "{}"}}},
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "a", Name: "x", Content: "no file", IsError: true}}},
	}})
	if want := `{"functionResponse":{"id":"a","name":"x","response":{"error":"no file"}}}`; !strings.Contains(body, want) {
		t.Errorf("%s\nlacks %s", body, want)
	}
}

func TestImageInASystemMessage(t *testing.T) {
	backend := newBackend(t, gemini.Config{Provider: "google", BaseURL: "http://127.0.0.1:1", Model: "gemini-3-flash"})
	_, err := backends.Collect(backend.Stream(t.Context(), backends.Request{Messages: []backends.Message{
		{Role: backends.RoleSystem, Parts: []backends.Part{backends.Image{MediaType: "image/png", Data: []byte{1}}}}, backends.User("go"),
	}}), nil)
	if err == nil || err.Error() != "google: bad request: an image in a system message cannot be sent to Gemini" {
		t.Errorf("%v", err)
	}
}
