//go:build live

package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/internal/models/prices"
)

const howTo = "no service can be called: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or OPENAI_BASE_URL for a server that needs no key" +
	" (as llama-server's http://127.0.0.1:8080/v1); ANTHROPIC_, OPENAI_ and GEMINI_BASE_URL and _MODEL replace the defaults," +
	" and OPENAI_RESPONSES_MODEL that of the Responses API"

// TestMain says what the tests cost, and begins when somebody agrees.
func TestMain(m *testing.M) {
	list := services(os.Getenv)
	table, err := prices.New(nil)
	if err == nil {
		fmt.Fprint(os.Stderr, estimate(table, list))
		if len(configured(list)) == 0 {
			err = errors.New(howTo)
		} else {
			err = agreeAtTerminal()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// agreeAtTerminal asks at the terminal of the process, since go test gives tests no input.
func agreeAtTerminal() error {
	var terminal io.ReadWriter
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		defer tty.Close()
		terminal = tty
	}
	return agree(os.Getenv(agreed), terminal)
}

// TestLive calls each service that the environment has a key or an address for.
func TestLive(t *testing.T) {
	list := services(os.Getenv)
	for _, s := range configured(list) {
		t.Run(s.name, func(t *testing.T) {
			backend, err := s.connect()
			if err != nil {
				t.Fatal(err)
			}
			if s.model == "" {
				s.model = firstModel(t, backend)
			}
			t.Logf("%s at %s", s.model, cmp.Or(s.baseURL, "its own address"))
			runAll(t, os.Getenv, s, backend)
		})
	}
	if hasMixed(list) {
		t.Run("mixed panel", func(t *testing.T) { testMixed(t, os.Getenv, list) })
	}
	if hasAuto(list) {
		t.Run("type auto", func(t *testing.T) { testAuto(t, os.Getenv) })
	}
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
