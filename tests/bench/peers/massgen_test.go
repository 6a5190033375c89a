package peers_test

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

// massgenModel streams an answer, or a call of a tool.
type massgenModel struct{ work work }

// Stream implements backends.Backend.
func (m massgenModel) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		if yield(m.reply(req), nil) && yield(backends.Usage{InputTokens: 10, OutputTokens: 10, CostUSD: new(float64)}, nil) {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

// reply answers and votes in a panel, and answers in words otherwise.
func (m massgenModel) reply(req backends.Request) backends.Event {
	switch {
	case m.work.agents > 1 && req.Key.Round == 1:
		return backends.ToolCall{ID: "1", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":"%s So says %s."}`, answer, req.Key.Agent)}
	case m.work.agents > 1:
		return backends.ToolCall{ID: "1", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"It is short."}`}
	case m.work.tool && req.Messages[len(req.Messages)-1].Role != backends.RoleTool:
		return backends.ToolCall{ID: "1", Name: toolName, Arguments: toolArgs}
	}
	return backends.TextDelta(backends.Text{Text: answer})
}

func massgenInMemory(b *testing.B, w work) ask { return massgenPanel(b, w) }

func massgenOnSQLite(b *testing.B, w work) ask {
	return massgenPanel(b, w, massgen.WithStateDir(filepath.Join(b.TempDir(), "state")))
}

// massgenPanel makes a panel. It journals each event of a turn before it goes on.
func massgenPanel(b *testing.B, w work, options ...massgen.Option) ask {
	var tools []agents.Tool
	if w.tool {
		look, err := agents.NewTool(toolName, toolText, func(_ context.Context, args lookArgs) (string, error) { return looked(args.What), nil })
		if err != nil {
			b.Fatal(err)
		}
		tools = append(tools, look)
	}
	members := make([]massgen.Agent, w.agents)
	for i := range members {
		members[i] = massgen.Agent{ID: fmt.Sprintf("agent-%d", i), Model: "mock", Backend: massgenModel{w}, Tools: tools}
	}
	panel, err := massgen.New(b.Context(), members, options...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := panel.Close(); err != nil {
			b.Error(err)
		}
	})
	return func(ctx context.Context, session string) (string, error) {
		result, err := panel.Run(ctx, session, question)
		return result.Answer, err
	}
}
