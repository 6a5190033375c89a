package providers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/tests/backendtest"
)

func sidecallsOf(t *testing.T, file string, record *debugbackend.Recorder, env map[string]string) (Sidecalls, []Fault) {
	t.Helper()
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	config, err := configs.Parse("panel.yaml", []byte(file), configs.Options{Lookup: lookup, BackendTypes: backendTypes()})
	if err != nil {
		t.Fatal(err)
	}
	r := resolverFor(t, config, World{Environment: lookup, Lookup: lookup}, record)
	return r.Sidecalls(t.Context(), config, nil)
}

// TestSidecallIsMadeAsAnAgentsCall makes a call with a wrong key: the fallback is called,
// both attempts are recorded, and the price is known.
func TestSidecallIsMadeAsAnAgentsCall(t *testing.T) {
	s := backendtest.NewServer(nil, func(c backendtest.Call) backendtest.Reply {
		if strings.Contains(string(c.Body), "broken") {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: http.StatusUnauthorized, Message: "no such key"}}
		}
		return backendtest.Reply{Text: "a summary", Usage: &backends.Usage{InputTokens: 1_000_000}}
	})
	defer s.Close()
	record := debugbackend.NewRecorder(debugbackend.Options{Keep: 10})
	all, failed := sidecallsOf(t, `
agents:
  - {backend: {type: openai, model: m}, context: {policy: summarize}}
context:
  summarize: {backend: {type: openai, model: broken, base_url: "${URL}", temperature: 0.5, fallback: [{type: openai, model: good, base_url: "${URL}"}]}}
prices:
  openai/good: {input: 2, output: 4}
  openai/broken: {context_window: 4000}
`, record, map[string]string{"URL": s.BaseURL, "OPENAI_API_KEY": "k"})
	if len(failed) > 0 || all.Summary == nil || all.Topic != nil || all.Facts != nil {
		t.Fatalf("%+v, %v", all, failed)
	}
	h := all.Summary
	if h.Model != "broken" || h.Window != 4000 || *h.Params.Temperature != 0.5 {
		t.Errorf("%+v", h)
	}
	resp, err := backends.Collect(h.Backend.Stream(t.Context(), backends.Request{
		Model: h.Model, Messages: []backends.Message{backends.User("q")}, Params: h.Params,
	}), nil)
	if err != nil || resp.Message.Text() != "a summary" || resp.Usage.CostUSD == nil || *resp.Usage.CostUSD != 2 {
		t.Errorf("%+v, %v", resp, err)
	}
	if n := len(record.Calls()); n != 2 {
		t.Errorf("%d attempts were recorded, want 2", n)
	}
}

func TestFaultsOfSidecallsNameTheirPlace(t *testing.T) {
	_, failed := sidecallsOf(t, `
agents:
  - {backend: {type: openai, model: gpt-4o, temperature: 1.5, seed: 1}, context: {policy: summarize}}
context:
  summarize: {backend: {type: claude, api_key: k, seed: 7}}
topic: {detect: true, backend: {type: openai, model: gpt-5.6-sol, api: chat, api_key: k}}
memory: {extract: true}
`, nil, nil)
	want := []Fault{
		{Of: "context.summarize", Text: "panel.yaml:5:51: type claude: seed: the Messages API takes none: leave it out"},
		{Of: "topic", Text: "the model, or a fallback of it, takes no tools while it reasons, and this call needs one: name another model, or set api: responses, or reasoning_effort: none where it takes that"},
		{Of: "memory", Text: "type openai has no key: set OPENAI_API_KEY in the environment or in .env"},
	}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
