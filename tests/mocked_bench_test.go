package tests_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
)

// mock is a model that answers at once.
type mock func(req backends.Request) []backends.Part

// Stream implements backends.Backend.
func (m mock) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		for _, part := range m(req) {
			var event backends.Event
			switch part := part.(type) {
			case backends.Text:
				event = backends.TextDelta(part)
			case backends.ToolCall:
				event = part
			}
			if !yield(event, nil) {
				return
			}
		}
		if yield(backends.Usage{InputTokens: 10, OutputTokens: 10, CostUSD: new(float64)}, nil) {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

// says answers with a text.
func says(backends.Request) []backends.Part { return []backends.Part{backends.Text{Text: "The sun."}} }

// looksUp calls the tool look, and then answers.
func looksUp(req backends.Request) []backends.Part {
	if req.Messages[len(req.Messages)-1].Role == backends.RoleTool {
		return says(req)
	}
	return []backends.Part{backends.ToolCall{ID: "1", Name: "look", Arguments: `{"what":"the sun"}`}}
}

// agrees answers in round 1 and then votes for the first agent.
func agrees(req backends.Request) []backends.Part {
	if req.Key.Round == 1 {
		return []backends.Part{backends.ToolCall{
			ID: "1", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":"The sun, says %s, costs little, and shines for all."}`, req.Key.Agent),
		}}
	}
	return []backends.Part{backends.ToolCall{ID: "1", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"It is short."}`}}
}

// BenchmarkMocked measures turns whose models answer at once, through package massgen: what
// is left is massgen's own share. Each event is journaled, in memory or in a file.
func BenchmarkMocked(b *testing.B) {
	look, err := agents.NewTool("look", "Looks something up.", func(_ context.Context, of struct {
		What string `json:"what"`
	}) (string, error) {
		return of.What + " is there", nil
	})
	if err != nil {
		b.Fatal(err)
	}
	cases := []struct {
		name   string
		agents int
		model  mock
		tools  []agents.Tool
		turns  int // of each session
	}{
		{"turn", 1, says, nil, 1},
		{"tool", 1, looksUp, []agents.Tool{look}, 1},
		{"session", 1, says, nil, 25},
		{"panel=3", 3, agrees, nil, 1},
		{"panel=100", 100, agrees, nil, 1},
		{"panel=300", 300, agrees, nil, 1},
		{"panel=1000", 1000, agrees, nil, 1},
	}
	for _, store := range []string{"memory", "sqlite"} {
		for _, c := range cases {
			b.Run(store+"/"+c.name, func(b *testing.B) {
				members := make([]massgen.Agent, c.agents)
				for i := range members {
					members[i] = massgen.Agent{ID: fmt.Sprintf("agent-%d", i), Model: "mock", Backend: c.model, Tools: c.tools}
				}
				var options []massgen.Option
				if store == "sqlite" {
					options = append(options, massgen.WithStateDir(filepath.Join(b.TempDir(), "state")))
				}
				panel, err := massgen.New(b.Context(), members, options...)
				if err != nil {
					b.Fatal(err)
				}
				defer panel.Close()
				b.ReportAllocs()
				session := 0
				for b.Loop() {
					session++
					for range c.turns {
						turn, err := panel.Ask(b.Context(), fmt.Sprint("session-", session), "What is the cheapest source of energy?")
						if err != nil {
							b.Fatal(err)
						}
						if result, err := turn.Wait(b.Context()); err != nil || result.Status != "completed" {
							b.Fatal(result.Status, err)
						}
					}
				}
			})
		}
	}
}
