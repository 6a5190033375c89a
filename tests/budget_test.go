package tests

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestBudgetLowersTheLimitThatIsSent: in each protocol the body has what the budget leaves room
// for, and the journal's call says the same.
func TestBudgetLowersTheLimitThatIsSent(t *testing.T) {
	t.Parallel()
	perProtocol(t, func(t *testing.T, p protocol) {
		server, adapter := p.serve(t, func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Text: "It is 4.", Usage: &backends.Usage{InputTokens: 100, OutputTokens: 4}}
		})
		const input, asked, room = 100, 8192, 1100
		most := func(req backends.Request) backends.Cost {
			return backends.Cost{Tokens: input + *req.Params.MaxTokens}
		}
		store := sessions.NewMemory()
		panel, err := coordinator.New(coordinator.Options{
			Store: store, Rules: kernel.Defaults(), Budget: budget.Budget{Turn: budget.Limits{Tokens: new(room)}},
			Agents: []coordinator.Agent{{
				ID: "a", Model: p.model, Params: backends.Params{MaxTokens: new(asked)},
				Backend: retry.New(adapter, newGate(p.name, retry.Limits{}), retry.Options{Most: most}),
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := panel.Start(t.Context(), "s", "What is 2 and 2?")
		if err != nil {
			t.Fatal(err)
		}
		r, err := turn.Wait(context.Background())
		if err != nil || r.Status != kernel.Completed || r.Budget.SpentTokens != 104 {
			t.Fatalf("%+v, %v", r, err)
		}
		calls := server.Calls()
		if len(calls) != 1 || sentLimit(t, calls[0].Body) != room-input {
			t.Errorf("%d calls were sent, the first with a limit of %d, want %d", len(calls), sentLimit(t, calls[0].Body), room-input)
		}
		past, err := coordinator.ReadCalls(t.Context(), store, "s", 1)
		if err != nil || len(past) != 1 || *past[0].Request.Params.MaxTokens != room-input {
			t.Errorf("the journal has %+v, %v", past, err)
		}
	})
}

// sentLimit is the limit of the output in a body of any protocol.
func sentLimit(t *testing.T, body []byte) int {
	t.Helper()
	var sent struct {
		MaxTokens           int `json:"max_tokens"`
		MaxCompletionTokens int `json:"max_completion_tokens"`
		MaxResponse         int `json:"max_output_tokens"`
		Gemini              struct {
			MaxOutputTokens int `json:"maxOutputTokens"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	return sent.MaxTokens + sent.MaxCompletionTokens + sent.MaxResponse + sent.Gemini.MaxOutputTokens
}
