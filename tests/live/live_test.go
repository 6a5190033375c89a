//go:build live

package live

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
)

const howTo = "live: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or OPENAI_BASE_URL for a server that needs no key" +
	" (as llama-server's http://127.0.0.1:8080/v1); ANTHROPIC_, OPENAI_ and GEMINI_BASE_URL and _MODEL replace the defaults," +
	" and OPENAI_RESPONSES_MODEL that of the Responses API"

func TestMain(m *testing.M) {
	if len(services()) == 0 {
		fmt.Fprintln(os.Stderr, howTo)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "live: %d services; each costs some ten thousand tokens, and up to $%.2f for searches and code where it has these\n",
		len(services()), backendtest.LiveHostedUSD)
	os.Exit(m.Run())
}

// TestLive calls each service that the environment has a key or an address for.
func TestLive(t *testing.T) {
	for _, s := range services() {
		t.Run(s.name, func(t *testing.T) {
			live := dialect(s.name)
			live.Model = s.model
			live.Hosts = live.Hosts && (s.baseURL == "" || s.kind() != "openai") // others need not have these tools
			var err error
			if live.Backend, err = s.connect(); err != nil {
				t.Fatal(err)
			}
			if live.Model == "" {
				live.Model = firstModel(t, live.Backend)
			}
			t.Logf("%s at %s", live.Model, cmp.Or(s.baseURL, "its own address"))
			backendtest.RunLive(t, live)
		})
	}
}

// service is a real one, with a cheap model that reasons.
type service struct {
	name, key, baseURL, model string
}

// services are those of the environment. An address of one's own, and no model, is
// asked for its first, and not called over the Responses API.
func services() []service {
	all := []service{
		{"claude", os.Getenv("ANTHROPIC_API_KEY"), os.Getenv("ANTHROPIC_BASE_URL"), cmp.Or(os.Getenv("ANTHROPIC_MODEL"), "claude-haiku-4-5")},
		{"gemini", cmp.Or(os.Getenv("GEMINI_API_KEY"), os.Getenv("GOOGLE_API_KEY")), os.Getenv("GEMINI_BASE_URL"), cmp.Or(os.Getenv("GEMINI_MODEL"), "gemini-2.5-flash")},
		{"openai", os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL"), os.Getenv("OPENAI_MODEL")},
		{"responses", os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL"), os.Getenv("OPENAI_RESPONSES_MODEL")},
	}
	var there []service
	for _, s := range all {
		if s.name == "openai" && s.model == "" && s.baseURL == "" {
			s.model = "gpt-5-mini"
		}
		if s.name == "responses" && s.model == "" {
			if s.baseURL != "" {
				continue // its models need not have this API
			}
			s.model = "gpt-5.4-mini"
		}
		if s.key != "" || s.kind() == "openai" && s.baseURL != "" {
			there = append(there, s)
		}
	}
	return there
}

// kind is who is called.
func (s service) kind() string {
	if s.name == "responses" {
		return "openai"
	}
	return s.name
}

func (s service) connect() (backends.Backend, error) {
	switch s.name {
	case "claude":
		return anthropic.New(anthropic.Config{BaseURL: s.baseURL, APIKey: s.key})
	case "gemini":
		return gemini.New(gemini.Config{BaseURL: s.baseURL, APIKey: s.key})
	}
	dialect := openai.Compatible()
	if s.baseURL == "" {
		dialect = openai.OpenAI()
	}
	dialect.API = "chat"
	if s.name == "responses" {
		dialect.API = "responses"
	}
	return openai.NewDialect(openai.Config{BaseURL: s.baseURL, APIKey: s.key}, dialect)
}

func firstModel(t *testing.T, backend backends.Backend) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	models, err := backend.(*openai.Backend).ListModels(ctx)
	if err != nil || len(models) == 0 {
		t.Fatalf("set OPENAI_MODEL: the server lists %d models, %v", len(models), err)
	}
	return models[0].ID
}
