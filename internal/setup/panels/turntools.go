package panels

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/setup/toolbox"
)

type turnToolsKey struct{}

// WithTurnTools returns a context for Opened.Start and Opened.Resume. In that turn all agents have these
// tools too. If an agent cannot have one of them, the turn fails with a TurnToolError.
func WithTurnTools(ctx context.Context, tools []agents.Tool) context.Context {
	return context.WithValue(ctx, turnToolsKey{}, tools)
}

// TurnToolError is the reason why an agent cannot have the tools of a turn.
type TurnToolError struct{ text string }

// Error implements error.
func (e TurnToolError) Error() string { return e.text }

// addTurnTools gives the tools in a turn's context to the agents of a panel. limits has the limits of the
// agents' models.
func addTurnTools(opts *coordinator.Options, limits toolbox.Options) {
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
			if problem := refusal(limits, i, list, added); problem != "" {
				return nil, TurnToolError{"agent " + opts.Agents[i].ID + " " + problem}
			}
		}
		return all, nil
	}
}

// refusal returns the reason why an agent with its own tools cannot have others, empty if it can.
func refusal(limits toolbox.Options, agent int, own, added []agents.Tool) string {
	names := map[string]bool{}
	for _, tool := range own {
		names[tool.Definition().Name] = true
	}
	for _, tool := range added {
		t := tool.Definition()
		if names[t.Name] {
			return fmt.Sprintf("has a tool %s of its own: rename the other", t.Name)
		}
		if err := limits.Unfit(agent, t); err != nil {
			return fmt.Sprintf("cannot be sent the tool %s: %v", t.Name, err)
		}
	}
	if most, why, ok := limits.Most(agent); ok && len(own)+len(added) > most {
		return fmt.Sprintf("has %d tools of its own and no room for %d: %v", len(own), len(added), why)
	}
	return ""
}
