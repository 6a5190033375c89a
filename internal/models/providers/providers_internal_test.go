package providers

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/configs"
)

func TestProvidersAreWhole(t *testing.T) {
	var names []string
	for _, p := range providers {
		if p.name == "" || p.title == "" || p.protocol == nil {
			t.Errorf("provider %+v is not whole", p)
		}
		if slices.Contains(names, p.name) {
			t.Errorf("two providers are called %s", p.name)
		}
		names = append(names, p.name)
		if p.local && (len(p.keyVars) > 0 || p.hint == "") {
			t.Errorf("the local server %s has a key, or no hint how to start it", p.name)
		}
		if owner, ok := providerOfModel(p.model); len(p.prefixes) > 0 && (!ok || owner.name != p.name) {
			t.Errorf("%s's own default model %s is taken for %q's", p.name, p.model, owner.name)
		}
	}
}

func TestModelsNameTheirProvider(t *testing.T) {
	cases := map[string]string{
		"gpt-4o": "openai", "o3": "openai", "o4-mini": "openai", "claude-sonnet-4-5": "claude", "gemini-2.5-pro": "gemini", "grok-4": "grok",
		"kimi-k3": "moonshot", "glm-5.3": "zai", "gpt-oss-120b": "", "gpt-oss:20b": "", "deepseek-r1:8b": "", "openai/gpt-5": "", "llama-3": "", "": "",
	}
	for model, want := range cases {
		if got, _ := providerOfModel(model); got.name != want {
			t.Errorf("%s belongs to %q, want %q", model, got.name, want)
		}
	}
}

// Every type that the shipped configs use is one of the table's, and takes what they
// ask for.
func TestShippedConfigsUseKnownTypes(t *testing.T) {
	set := func(string) (string, bool) { return "http://localhost/v1", true }
	for _, e := range configs.Examples() {
		config, err := configs.Load("@examples/"+e.Name, configs.Options{Lookup: set, BackendTypes: backendTypes()})
		if err != nil {
			t.Error(err)
			continue
		}
		for i, a := range config.Agents {
			for _, b := range append([]configs.Backend{a.Backend}, a.Backend.Fallback...) {
				p, _ := findProvider(b.Type)
				if p.protocol == nil {
					continue // auto, or known by the name of its model
				}
				c := connection{provider: p.name, baseURL: cmp.Or(b.BaseURL, p.baseURL), apiVersion: b.APIVersion, model: cmp.Or(b.Model, p.model)}
				if err := checkParams(p, c, standIn(a.Backend, b)); err != nil {
					t.Error(Placed(func(key string) string { return config.BackendPlace(i, key) }, err))
				}
			}
		}
	}
}

// The types openai and chatcompletion are written for any service: the address
// tells its dialect. All other types have their own wherever they are reached.
func TestDialectOfAnAddress(t *testing.T) {
	seed := int64(1)
	for _, c := range []struct {
		name, baseURL, model string
		refused              bool
	}{
		{"deepseek", "https://api.deepseek.com/v1", "m", true},
		{"deepseek", "http://localhost:1/v1", "m", true},
		{"chatcompletion", "https://api.deepseek.com/v1", "m", true},
		{"openai", "https://api.deepseek.com/v1", "m", true},
		{"chatcompletion", "https://example.com/v1", "m", false},
		{"openai", "https://api.openai.com/v1", "m", false},
		{"chatcompletion", "https://api.anthropic.com/v1", "m", false},
	} {
		p, _ := findProvider(c.name)
		err := p.check(connection{provider: c.name, baseURL: c.baseURL, model: c.model}, configs.Backend{Params: backends.Params{Seed: &seed}})
		if refused := err != nil; refused != c.refused {
			t.Errorf("%s at %s: %v", c.name, c.baseURL, err)
		}
	}
}

// Services whose models only read text refuse images by name, and no others.
func TestModelsWithoutImages(t *testing.T) {
	for _, c := range []struct {
		name, model string
		refused     bool
	}{
		{"deepseek", "deepseek-v4-pro", true}, {"deepseek", "deepseek-flash", false},
		{"cerebras", "gpt-oss-120b", true}, {"cerebras", "gemma-4-31b", false},
		{"groq", "openai/gpt-oss-120b", true}, {"zai", "glm-4.6", true}, {"zai", "glm-4.6v", false}, {"zai", "glm-5.3-flash", false},
		{"moonshot", "moonshot-v1-8k", true}, {"moonshot", "moonshot-v1-8k-vision-preview", false}, {"qwen", "qwen3-max", true},
		{"qwen", "qwen3.8-flash", false}, {"openai", "gpt-4o", false}, {"openai", "o3-mini", true}, {"ollama", "gpt-oss:20b", false},
	} {
		p, _ := findProvider(c.name)
		own := p.protocol.(chat).dialect
		b, err := openai.NewDialect(openai.Config{BaseURL: "http://127.0.0.1:1/v1"}, own)
		if err != nil {
			t.Fatal(err)
		}
		picture := backends.Message{Role: backends.RoleUser, Parts: []backends.Part{backends.Image{MediaType: "image/png", Data: []byte{1}}}}
		_, err = backends.Collect(b.Stream(t.Context(), backends.Request{Model: c.model, Messages: []backends.Message{picture}}), nil)
		if refused := backends.KindOf(err) == backends.KindBadRequest; refused != c.refused {
			t.Errorf("%s %s: %v", c.name, c.model, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

var update = flag.Bool("update", false, "write the table of docs/backends.md anew")

// docs/backends.md shows the table of providers as it is.
func TestBackendsAreDocumented(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "backends.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- backends: written by internal/models/providers/providers_internal_test.go -->\n", "<!-- end of backends -->"
	before, rest, opened := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	want := providersAsMarkdown()
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("%s differs; go test ./internal/models/providers -run BackendsAreDocumented -update writes it", path)
	}
}

func providersAsMarkdown() string {
	var b strings.Builder
	b.WriteString("| Type | Address | Key | Default model |\n| --- | --- | --- | --- |\n")
	for _, p := range providers {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.name, joinWords(p.baseURL, strings.Join(p.urlVars, ", ")), strings.Join(p.keyVars, ", "), p.usualModel())
	}
	for _, p := range providers {
		if len(p.notes()) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n`%s`, %s:\n\n", p.name, p.title)
		for _, note := range p.notes() {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(note, "<", "\\<"))
		}
	}
	return b.String()
}
