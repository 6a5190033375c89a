package app

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/debugbackend"
)

// provider is what the program knows of a service that has models. The list of
// providers is the only place that names them.
type provider struct {
	// name is the backend type of a configuration, and what errors are headed with.
	name string
	// title is what people call the service.
	title string
	// baseURL is the service's own address; empty when the configuration must give
	// one.
	baseURL string
	// urlVar is a variable that replaces baseURL.
	urlVar string
	// keyVars are the variables that may hold the key, the first that is set counts.
	// Without any the service needs no key.
	keyVars []string
	// prefixes are how the names of its models begin; see providerOfModel.
	prefixes []string
	// model is used when none is given. Empty on a local server means the first
	// that it lists.
	model string
	// local says that it is a server on this machine, which type auto looks for.
	local bool
	// hint is what to do when the server cannot be reached.
	hint    string
	connect func(connection) (backends.Backend, error)
}

// connection is what a backend is made of. The zero APIVersion means the
// service's own way.
type connection struct {
	provider, baseURL, key, apiVersion, model string
	firstByteTimeout, idleTimeout             time.Duration
}

// providers lists them in the order in which type auto takes them.
func providers() []provider {
	return []provider{
		{name: "openai", title: "OpenAI", baseURL: openai.DefaultBaseURL, urlVar: "OPENAI_BASE_URL",
			keyVars: []string{"OPENAI_API_KEY"}, prefixes: []string{"gpt-", "chatgpt-", "o1", "o3", "o4"},
			model: "gpt-5-mini", connect: connectOpenAI},
		{name: "claude", title: "Anthropic", baseURL: anthropic.DefaultBaseURL,
			keyVars: []string{"ANTHROPIC_API_KEY"}, prefixes: []string{"claude-"},
			model: "claude-sonnet-4-5", connect: connectAnthropic},
		{name: "gemini", title: "Google Gemini", baseURL: gemini.DefaultBaseURL,
			keyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, prefixes: []string{"gemini-"},
			model: "gemini-2.5-flash", connect: connectGemini},
		{name: "grok", title: "xAI", baseURL: "https://api.x.ai/v1",
			keyVars: []string{"XAI_API_KEY"}, prefixes: []string{"grok-"},
			model: "grok-4", connect: connectOpenAI},
		{name: "deepseek", title: "DeepSeek", baseURL: "https://api.deepseek.com/v1",
			keyVars: []string{"DEEPSEEK_API_KEY"}, model: "deepseek-chat", connect: connectOpenAI},
		{name: "mistral", title: "Mistral", baseURL: "https://api.mistral.ai/v1",
			keyVars: []string{"MISTRAL_API_KEY"}, model: "mistral-large-latest", connect: connectOpenAI},
		{name: "openrouter", title: "OpenRouter", baseURL: "https://openrouter.ai/api/v1",
			keyVars: []string{"OPENROUTER_API_KEY"}, model: "openai/gpt-5-mini", connect: connectOpenAI},
		{name: "groq", title: "Groq", baseURL: "https://api.groq.com/openai/v1",
			keyVars: []string{"GROQ_API_KEY"}, model: "openai/gpt-oss-120b", connect: connectOpenAI},
		{name: "cerebras", title: "Cerebras", baseURL: "https://api.cerebras.ai/v1",
			keyVars: []string{"CEREBRAS_API_KEY"}, model: "gpt-oss-120b", connect: connectOpenAI},
		{name: "together", title: "Together AI", baseURL: "https://api.together.xyz/v1",
			keyVars: []string{"TOGETHER_API_KEY"}, model: "openai/gpt-oss-120b", connect: connectOpenAI},
		{name: "fireworks", title: "Fireworks AI", baseURL: "https://api.fireworks.ai/inference/v1",
			keyVars: []string{"FIREWORKS_API_KEY"}, model: "accounts/fireworks/models/gpt-oss-120b", connect: connectOpenAI},
		{name: "zai", title: "Z.ai", baseURL: "https://api.z.ai/api/paas/v4",
			keyVars: []string{"ZAI_API_KEY"}, prefixes: []string{"glm-"}, model: "glm-4.6", connect: connectOpenAI},
		{name: "azure_openai", title: "Azure OpenAI", urlVar: "AZURE_OPENAI_ENDPOINT",
			keyVars: []string{"AZURE_OPENAI_API_KEY"}, connect: connectAzure},
		{name: "ollama", title: "Ollama", baseURL: "http://localhost:11434/v1", local: true,
			hint: "start it with: ollama serve", connect: connectOpenAI},
		{name: "lmstudio", title: "LM Studio", baseURL: "http://localhost:1234/v1", local: true,
			hint: "start its server with: lms server start", connect: connectOpenAI},
		{name: "llamacpp", title: "llama.cpp", baseURL: "http://localhost:8080/v1", local: true,
			hint: "start it with: llama-server --jinja -m MODEL.gguf", connect: connectOpenAI},
		{name: "vllm", title: "vLLM", baseURL: "http://localhost:8000/v1", local: true,
			hint: "start it with: vllm serve MODEL", connect: connectOpenAI},
		{name: "sglang", title: "SGLang", baseURL: "http://localhost:30000/v1", local: true,
			hint: "start it with: python -m sglang.launch_server", connect: connectOpenAI},
		{name: "chatcompletion", title: "any OpenAI-compatible service", connect: connectOpenAI},
		{name: demoType, title: "the offline demo model: canned answers", baseURL: "none", model: "demo",
			connect: func(connection) (backends.Backend, error) { return debugbackend.Demo(), nil }},
	}
}

const (
	autoType = "auto"
	demoType = "demo"
	// anyType is for services that the list does not name.
	anyType = "chatcompletion"
)

func connectOpenAI(c connection) (backends.Backend, error) { return newOpenAI(c) }

func connectAnthropic(c connection) (backends.Backend, error) {
	return anthropic.New(anthropic.Config{
		Provider: c.provider, BaseURL: c.baseURL, APIKey: c.key, Model: c.model,
		FirstByteTimeout: c.firstByteTimeout, IdleTimeout: c.idleTimeout,
	})
}

func connectGemini(c connection) (backends.Backend, error) {
	return gemini.New(gemini.Config{
		Provider: c.provider, BaseURL: c.baseURL, APIKey: c.key, Model: c.model,
		FirstByteTimeout: c.firstByteTimeout, IdleTimeout: c.idleTimeout,
	})
}

func newOpenAI(c connection) (*openai.Backend, error) {
	return openai.New(openai.Config{
		Provider: c.provider, BaseURL: c.baseURL, APIKey: c.key, Model: c.model,
		FirstByteTimeout: c.firstByteTimeout, IdleTimeout: c.idleTimeout,
	})
}

// connectAzure makes the address of a deployment of the endpoint, which the
// model names, and sends the key in Azure's own header. Without a version it is
// Azure's v1 interface, which is addressed as OpenAI's.
func connectAzure(c connection) (backends.Backend, error) {
	endpoint := strings.TrimRight(c.baseURL, "/")
	if c.apiVersion == "" {
		if !strings.Contains(endpoint, "/openai") {
			c.baseURL = endpoint + "/openai/v1"
		}
		return connectOpenAI(c)
	}
	if !strings.Contains(endpoint, "/openai/deployments/") {
		endpoint += "/openai/deployments/" + url.PathEscape(c.model)
	}
	key := c.key
	c.baseURL, c.key = endpoint+"?api-version="+url.QueryEscape(c.apiVersion), ""
	b, err := newOpenAI(c)
	return headerBackend{b, "api-key", key}, err
}

// headerBackend sends a header with each call.
type headerBackend struct {
	*openai.Backend
	name, value string
}

func (b headerBackend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	headers := map[string]string{b.name: b.value}
	maps.Copy(headers, req.Params.Headers)
	req.Params.Headers = headers
	return b.Backend.Stream(ctx, req)
}

// findProvider returns the provider with a backend type.
func findProvider(name string) (provider, bool) {
	list := providers()
	i := slices.IndexFunc(list, func(p provider) bool { return p.name == name })
	if i < 0 {
		return provider{}, false
	}
	return list[i], true
}

// providerOfModel returns the provider whose models' names begin so. Names of
// open models (gpt-oss-20b, deepseek-r1:8b, openai/gpt-5) are at home in many
// places and name none.
func providerOfModel(model string) (provider, bool) {
	if strings.ContainsAny(model, ":/") || strings.HasPrefix(model, "gpt-oss") {
		return provider{}, false
	}
	for _, p := range providers() {
		if slices.ContainsFunc(p.prefixes, func(prefix string) bool { return strings.HasPrefix(model, prefix) }) {
			return p, true
		}
	}
	return provider{}, false
}

// providerOfURL returns the provider whose own address is on the same host.
func providerOfURL(baseURL string) (provider, bool) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return provider{}, false
	}
	for _, p := range providers() {
		if own, err := url.Parse(p.baseURL); err == nil && own.Host == u.Host {
			return p, true
		}
	}
	return provider{}, false
}

// backendTypes are the values of a backend's type.
func backendTypes() []string {
	types := []string{autoType}
	for _, p := range providers() {
		types = append(types, p.name)
	}
	return types
}

// listBackends shows the table to people.
func (c console) listBackends() error {
	_, err := fmt.Fprint(c.out, backendList())
	return err
}

func backendList() string {
	var b strings.Builder
	row := func(name, title, key, model string) {
		fmt.Fprintf(&b, "%-15s%-38s%-34s%s\n", name, title, key, model)
	}
	row("TYPE", "SERVICE", "KEY", "DEFAULT MODEL")
	row(autoType, "the first of these that is there", "", "")
	for _, p := range providers() {
		model := p.model
		if p.local {
			model = "the first that the server lists"
		}
		row(p.name, p.title, strings.Join(p.keyVars, " or "), model)
	}
	return b.String()
}
