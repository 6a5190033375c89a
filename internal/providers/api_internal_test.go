package providers

import (
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
			"set tool_mode: json, or reasoning_effort: none"},
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

func TestAzureHasResponsesInItsV1InterfaceOnly(t *testing.T) {
	line, _ := azureRequest(t, connection{api: "responses", key: "k", model: "m"}, backends.Params{})
	if want := "/openai/v1/responses |  | Bearer k"; line != want {
		t.Errorf("%s, want %s", line, want)
	}
	err := azure{}.check(connection{baseURL: "https://r.openai.azure.com", apiVersion: "2025-04-01-preview", api: "responses", model: "m"}, configs.Backend{})
	if err == nil {
		t.Error("a deployment's address takes responses")
	}
}
