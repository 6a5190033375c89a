package engine

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// dismissal makes a turn go on without an agent.
type dismissal struct {
	toTurn
	Agent string `json:"agent"`
}

// Dismiss makes the turn go on without an agent, for a coordinator.RemoteTurn.
func (r *remote) Dismiss(ctx context.Context, agent string) error {
	if err := r.signal(ctx, dismissSignal, dismissal{toTurn{r.number}, agent}); err != nil {
		return fmt.Errorf("go on without %s: %w", agent, err)
	}
	return nil
}

// hearDismissal makes the turn go on without an agent. A dismissal that came too late, unknown
// to its client, changes nothing.
func (p *player) hearDismissal(ctx workflow.Context, in dismissal) {
	p.happened(happening{event: func(at kernel.Time) turn.Event {
		agent, err := p.driver.Machine().MayDismiss(in.Agent)
		if err != nil {
			workflow.GetLogger(ctx).Warn("the turn does not go on without an agent", "agent", in.Agent, "error", err)
			return nil
		}
		return kernel.Dismissed{At: at, Agent: agent}
	}})
}
