package providers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// TestResponsesTakeToolsInReasoning: gpt-5.4 with an effort has native tools there, and there
// alone.
func TestResponsesTakeToolsInReasoning(t *testing.T) {
	p, _ := findProvider(openAIType)
	google, _ := findProvider("gemini")
	for _, c := range []struct {
		p         provider
		api, want string
		stop      []string
	}{
		{p: p, api: "responses"},
		{p: p, api: "responses", stop: []string{"END"}, want: "type openai: stop: gpt-5.4 takes none: leave it out"},
		{p: p, api: "chat", want: "type openai: tool_mode: gpt-5.4 takes no tools in chat completions while it reasons: " +
			"set api: responses, tool_mode: json or reasoning_effort: none"},
		{p: google, api: "chat", want: "type gemini: api: only services that speak as OpenAI does have a choice: leave it out"},
	} {
		b := configs.Backend{API: c.api, ToolMode: "native", Params: backends.Params{Stop: c.stop}}
		if c.p.name == openAIType {
			b.Params.ReasoningEffort = "medium"
		}
		got := ""
		if err := checkParams(c.p, connection{provider: c.p.name, baseURL: c.p.baseURL, api: c.api, model: "gpt-5.4"}, b); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s over %s: %q, want %q", c.p.name, c.api, got, c.want)
		}
	}
}

// TestSummariesComeOverResponses: who wants to see what OpenAI's models think is called over
// the API that shows it, and told where there is none.
func TestSummariesComeOverResponses(t *testing.T) {
	const own, other = "https://api.openai.com/v1", "https://example.com/v1"
	for _, c := range []struct{ kind, baseURL, version, model, summary, api, want, fault string }{
		{openAIType, own, "", "gpt-5-mini", "auto", "", "responses", ""},
		{openAIType, own, "", "gpt-5-mini", "none", "", "", ""},
		{openAIType, own, "", "gpt-5-mini", "", "", "", ""},
		{openAIType, other, "", "llama", "auto", "", "", ""},
		{openAIType, own, "", "gpt-5-mini", "auto", "chat", "chat", "type openai: summary: chat completions have none: set api: responses, or leave it out"},
		{openAIType, own, "", "gpt-4o", "auto", "", "responses", "type openai: summary: gpt-4o does not reason: leave it out"},
		{azureType, "https://r.openai.azure.com", "", "gpt-5-mini", "detailed", "", "responses", ""},
		{azureType, "https://r.openai.azure.com", "2024-12-01-preview", "gpt-5-mini", "auto", "", "",
			"type azure_openai: summary: chat completions have none: set api: responses, or leave it out"},
		{"deepseek", "https://api.deepseek.com/v1", "", "deepseek-flash", "auto", "", "", ""},
		{"claude", "https://api.anthropic.com", "", "claude-sonnet-4-5", "auto", "", "", ""},
	} {
		p, _ := findProvider(c.kind)
		at := connection{provider: c.kind, baseURL: c.baseURL, apiVersion: c.version, model: c.model}
		b := configs.Backend{API: c.api, APIVersion: c.version, Params: backends.Params{ReasoningSummary: c.summary}}
		fault := ""
		if err := checkParams(p, at, b); err != nil {
			fault = err.Error()
		}
		if api := p.api(at, b); api != c.want || fault != c.fault {
			t.Errorf("%s at %s with %s, summary %q: api %q, %q", c.model, c.baseURL, c.version, c.summary, api, fault)
		}
	}
}

// TestAPIOfAModel: the model says over which API it is called, where the configuration does not.
func TestAPIOfAModel(t *testing.T) {
	const chatPath, responsesPath = "/v1/chat/completions", "/v1/responses"
	for _, c := range []struct{ kind, model, api, want string }{
		{openAIType, "gpt-5.4", "", responsesPath},
		{openAIType, "gpt-5.4-mini-2026-03-17", "", responsesPath},
		{openAIType, "openai/gpt-5.6-sol", "", responsesPath},
		{openAIType, "gpt-6.1-sol", "", responsesPath},
		{openAIType, "gpt-5.3-codex", "", responsesPath},
		{openAIType, "o3-pro", "", responsesPath},
		{openAIType, "gpt-5.4", "chat", chatPath},
		{openAIType, "gpt-5-mini", "", chatPath},
		{openAIType, "gpt-5-mini", "responses", responsesPath},
		{openAIType, "llama", "", chatPath},
		{anyType, "gpt-5.4", "", chatPath},
		{anyType, "gpt-5.4", "responses", responsesPath},
		{"llamacpp", "gpt-oss-20b", "", chatPath},
		{"llamacpp", "gpt-oss-20b", "responses", responsesPath},
		{"openrouter", "openai/gpt-5.4", "", chatPath},
	} {
		asked := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.Path
			http.NotFound(w, r)
		}))
		p, _ := findProvider(c.kind)
		b, err := p.connect(connection{provider: c.kind, baseURL: s.URL + "/v1", api: c.api, model: c.model})
		if err != nil {
			t.Fatal(err)
		}
		_, err = backends.Collect(b.Stream(t.Context(), backends.Request{Model: c.model, Messages: []backends.Message{backends.User("q")}}), nil)
		if asked != c.want || err == nil {
			t.Errorf("type %s, model %s, api %q: %s was asked, want %s; %v", c.kind, c.model, c.api, asked, c.want, err)
		}
		hinted := withHint(p, connection{provider: c.kind, baseURL: s.URL + "/v1", api: c.api, model: c.model}, "", err)
		if strings.Contains(hinted.Error(), "set api: chat") != (asked == responsesPath) {
			t.Errorf("type %s, model %s, api %q: %v", c.kind, c.model, c.api, hinted)
		}
		s.Close()
	}
}

func TestResponsesOfAzure(t *testing.T) {
	const v1, dated = "/openai/v1/responses |  | Bearer k", "/openai/responses?api-version=2025-04-01-preview | k | "
	for _, c := range []struct{ path, version, api, model, want string }{
		{"", "", "responses", "m", v1},
		{"", "", "", "gpt-5.4", v1},
		{"", "", "chat", "gpt-5.4", "/openai/v1/chat/completions |  | Bearer k"},
		{"", "2025-04-01-preview", "", "gpt-5.4", dated},
		{"/openai", "2025-04-01-preview", "responses", "m", dated},
		{"", "2025-01-01-preview", "", "gpt-5.4", "/openai/deployments/gpt-5.4/chat/completions?api-version=2025-01-01-preview | k | "},
		{"/openai/deployments/gpt-5.4", "preview", "", "gpt-5.4", "/openai/deployments/gpt-5.4/chat/completions?api-version=preview | k | "},
	} {
		line, _ := azureRequest(t, connection{baseURL: c.path, apiVersion: c.version, api: c.api, key: "k", model: c.model}, backends.Params{})
		if line != c.want {
			t.Errorf("%s, version %q, api %q: %s, want %s", c.model, c.version, c.api, line, c.want)
		}
	}
	for _, c := range []struct{ path, version, want string }{
		{"", "2025-01-01-preview", "api: api_version 2025-01-01-preview knows no responses: set one from 2025-03-01-preview on, or leave it out"},
		{"/openai/deployments/m", "2025-04-01-preview", "api: base_url names a deployment, which has no responses: cut the address after the host"},
	} {
		err := azure{}.check(connection{
			baseURL: "https://r.openai.azure.com" + c.path, apiVersion: c.version, api: "responses", model: "m",
		}, configs.Backend{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s with version %s: %v", c.path, c.version, err)
		}
	}
}

func TestCacheTimeIsClaudes(t *testing.T) {
	b := configs.Backend{Params: backends.Params{CacheTTL: "1h"}}
	for name, model := range map[string]string{"claude": "claude-opus-5-5", "demo": "", "openai": "gpt-4o", "gemini": "gemini-2.5-flash", "openrouter": "anthropic/claude-opus-4.6"} {
		p, _ := findProvider(name)
		c := connection{provider: p.name, baseURL: p.baseURL, model: model}
		want := ""
		if name != "claude" && name != "demo" {
			want = "type " + name + ": cache_ttl: only Claude lets a request say how long it caches the prompt: leave it out"
		}
		if err := checkParams(p, c, b); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err := checkParams(p, c, standIn(b, configs.Backend{})); err != nil {
			t.Errorf("a fallback to %s: %v", name, err)
		}
	}
}

func TestBudgetReservesTheCacheOfAnHour(t *testing.T) {
	r, err := New(Settings{Config: configs.Default(), Secrets: &configs.Secrets{}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	req := backends.Request{Model: "claude-opus-5-5", Messages: []backends.Message{backends.User("hi")}, Params: backends.Params{MaxTokens: new(1)}}
	short := *r.most("claude")(req).USD
	req.Params.CacheTTL = "1h"
	if long := *r.most("claude")(req).USD; long <= short {
		t.Errorf("an attempt costs at most %v, with a cache of an hour %v", short, long)
	}
}

func TestReasoningIsLimitedInOneWay(t *testing.T) {
	p, _ := findProvider("gemini")
	b := configs.Backend{Params: backends.Params{ReasoningTokens: new(2000), ReasoningEffort: "low"}}
	err := checkParams(p, connection{provider: p.name, model: "gemini-2.5-flash"}, b)
	if want := "type gemini: budget_tokens: it takes the place of an effort: keep one of the two"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestReservationCountsThreeBytesAToken: a tokenizer counts English lower, and a service may count more than
// the tokenizer does.
func TestReservationCountsThreeBytesAToken(t *testing.T) {
	r, err := New(Settings{Config: configs.Default(), Secrets: &configs.Secrets{}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("all there is to be said about the weather of today ", 100)
	req := backends.Request{Messages: []backends.Message{backends.User(text)}, Params: backends.Params{MaxTokens: new(1)}}
	for _, model := range []string{"gpt-4o", "some-model"} {
		req.Model = model
		if got := r.most("openai")(req).Tokens; got < len(text)/3 {
			t.Errorf("%s: %d tokens are reserved for %d bytes", model, got, len(text))
		}
	}
}
