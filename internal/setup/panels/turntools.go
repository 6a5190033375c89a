package panels

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator"
)

type turnToolsKey struct{}

// WithTurnTools returns a context for Opened.Start and Opened.Resume. In that turn all agents have these
// tools too. If an agent has a tool of the same name, the turn fails with a ToolNameError.
func WithTurnTools(ctx context.Context, tools []agents.Tool) context.Context {
	return context.WithValue(ctx, turnToolsKey{}, tools)
}

// ToolNameError is the error of a turn's tool with the name of an agent's own tool.
type ToolNameError struct{ Agent, Tool string }

// Error implements error.
func (e ToolNameError) Error() string {
	return fmt.Sprintf("agent %s has a tool %s of its own: rename the other", e.Agent, e.Tool)
}

// addTurnTools gives the tools in a turn's context to the agents of a panel.
func addTurnTools(opts *coordinator.Options) {
	own := opts.Tools
	if own == nil {
		return // the turns are played elsewhere
	}
	opts.Tools = func(ctx context.Context) ([][]agents.Tool, error) {
		lists, err := own(ctx)
		added, _ := ctx.Value(turnToolsKey{}).([]agents.Tool)
		if err != nil || len(added) == 0 {
			return lists, err
		}
		all := make([][]agents.Tool, len(lists))
		for i, list := range lists {
			all[i] = append(append(all[i], list...), added...)
			names := map[string]bool{}
			for _, tool := range list {
				names[tool.Definition().Name] = true
			}
			for _, tool := range added {
				if name := tool.Definition().Name; names[name] {
					return nil, ToolNameError{opts.Agents[i].ID, name}
				}
			}
		}
		return all, nil
	}
}
