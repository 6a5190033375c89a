//go:build judges

package judges

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// startAimock starts aimock with the fixtures of a file. A request that fits none of
// them is an error.
func startAimock(t *testing.T, fixtures string) string {
	return start(t, "node", installed(t, "node", "node_modules", "@copilotkit", "aimock", "dist", "cli.js"),
		"--port", "0", "--fixtures", fixtures, "--validate-on-load", "--strict")
}

// library is a tool that looks things up. It keeps what it was asked.
type library struct {
	mu    sync.Mutex
	asked []string
}

func (*library) Definition() backends.Tool {
	return backends.Tool{
		Name:        "look_up",
		Description: "Looks up a subject.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"subject":{"type":"string"}},"required":["subject"]}`),
	}
}

func (l *library) Call(_ context.Context, arguments string) (string, error) {
	var in struct {
		Subject string `json:"subject"`
	}
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", fmt.Errorf("read the arguments: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, in.Subject)
	return "found: " + in.Subject, nil
}

// TestMixedPanel has a Claude, a Gemini and an OpenAI model on one panel. Each calls
// a tool, gets its result, answers, and votes.
func TestMixedPanel(t *testing.T) {
	url := startAimock(t, "testdata/panel.json")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	claude, err := anthropic.New(anthropic.Config{BaseURL: url, APIKey: "any", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	google, err := gemini.New(gemini.Config{BaseURL: url, APIKey: "any", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	gpt, err := openai.New(openai.Config{BaseURL: url + "/v1", APIKey: "any", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	var books library
	tools := []agents.Tool{&books}
	panel, err := coordinator.New(coordinator.Options{Store: sessions.NewMemory(), Agents: []coordinator.Agent{
		{ID: "claude", SystemMessage: "You are the physicist.", Backend: claude, Model: "claude-sonnet-4-5", Tools: tools,
			Params: backends.Params{ReasoningEffort: "low"}},
		{ID: "gemini", SystemMessage: "You are the economist.", Backend: google, Model: "gemini-2.5-flash", Tools: tools},
		{ID: "gpt", SystemMessage: "You are the engineer.", Backend: gpt, Model: "gpt-5-mini", Tools: tools},
	}})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := panel.Start(t.Context(), "s", "Why does solar power grow?")
	if err != nil {
		t.Fatal(err)
	}
	result, err := turn.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", result)
	if diff := cmp.Diff("gemini", result.Winner); diff != "" {
		t.Error(diff)
	}
	t.Log(strings.Join(books.asked, " "))
}
