package providers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/massgen/massgen/configs"
)

// TestLocalAddresses reads the variables of local servers as the servers' own clients do.
func TestLocalAddresses(t *testing.T) {
	const name = "OLLAMA_HOST"
	for _, c := range []struct {
		provider  string
		variables map[string]string
		want      string
	}{
		{"ollama", nil, "http://localhost:11434/v1"},
		{"ollama", map[string]string{name: "  "}, "http://localhost:11434/v1"},
		{"ollama", map[string]string{name: "10.0.0.5"}, "http://10.0.0.5:11434/v1"},
		{"ollama", map[string]string{name: " box:1234\r\n"}, "http://box:1234/v1"},
		{"ollama", map[string]string{name: `"box:1234"`}, "http://box:1234/v1"},
		{"ollama", map[string]string{name: ":1234"}, "http://127.0.0.1:1234/v1"},
		{"ollama", map[string]string{name: "0.0.0.0"}, "http://127.0.0.1:11434/v1"},
		{"ollama", map[string]string{name: "http://0.0.0.0:1234"}, "http://127.0.0.1:1234/v1"},
		{"ollama", map[string]string{name: "[::]:1234"}, "http://[::1]:1234/v1"},
		{"ollama", map[string]string{name: "::1"}, "http://[::1]:11434/v1"},
		{"ollama", map[string]string{name: "[::1]"}, "http://[::1]:11434/v1"},
		{"ollama", map[string]string{name: "http://box"}, "http://box:80/v1"},
		{"ollama", map[string]string{name: "https://box"}, "https://box:443/v1"},
		{"ollama", map[string]string{name: "https://box/ollama/"}, "https://box:443/ollama/v1"},
		{"ollama", map[string]string{name: "https://box/v1/"}, "https://box:443/v1"},
		{"ollama", map[string]string{name: "http://me:secret@box:1234"}, "http://me:secret@box:1234/v1"},
		{"ollama", map[string]string{name: "box:70000"}, "http://box:11434/v1"},
		{"llamacpp", map[string]string{"LLAMA_ARG_PORT": "9090"}, "http://127.0.0.1:9090/v1"},
		{"llamacpp", map[string]string{"LLAMA_ARG_HOST": "0.0.0.0"}, "http://127.0.0.1:8080/v1"},
		{"llamacpp", map[string]string{"LLAMA_ARG_HOST": "box", "LLAMA_ARG_PORT": "9090", "LLAMA_ARG_API_PREFIX": "/llama"}, "http://box:9090/llama/v1"},
		{"llamacpp", map[string]string{"LLAMA_ARG_HOST": "/run/llama.sock"}, "http://localhost:8080/v1"},
		{"openai", map[string]string{"OPENAI_BASE_URL": " http://box/v1\n"}, "http://box/v1"},
	} {
		p, _ := findProvider(c.provider)
		lookup := func(name string) (string, bool) { value, set := c.variables[name]; return value, set }
		if got := resolverFor(t, configs.Default(), World{Environment: lookup, Lookup: lookup}, nil).address(p); got != c.want {
			t.Errorf("%s, %q: got %s, want %s", c.provider, c.variables, got, c.want)
		}
	}
}

// TestAutoAsksTheAddressInTheEnvironment looks for a model server where its variable says.
func TestAutoAsksTheAddressInTheEnvironment(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte(`{"data":[{"id":"llama"}]}`)); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	host := map[string]string{"OLLAMA_HOST": strings.TrimPrefix(s.URL, "http://")}
	lookup := func(name string) (string, bool) { value, set := host[name]; return value, set }
	r := resolverFor(t, configs.Default(), World{Environment: lookup, Lookup: lookup, LocalServers: map[string]string{}}, nil)
	if got := r.askLocal(t.Context()); len(got) != 1 || got[0].baseURL != s.URL+"/v1" || len(got[0].models) != 1 {
		t.Errorf("asked %+v", got)
	}
}

// TestBlanksAroundAKeyAreCut takes keys as people paste them.
func TestBlanksAroundAKeyAreCut(t *testing.T) {
	p, _ := findProvider("openai")
	lookup := func(name string) (string, bool) { return " sk-0123456789\r\n", name == "OPENAI_API_KEY" }
	r := resolverFor(t, configs.Default(), World{Environment: lookup, Lookup: lookup}, nil)
	for _, b := range []configs.Backend{{}, {APIKey: "\tsk-0123456789 "}} {
		if key, _, err := r.key(p, b); key != "sk-0123456789" || err != nil {
			t.Errorf("got %q, %v", key, err)
		}
	}
}
