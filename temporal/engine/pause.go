package engine

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/turn"
)

// pausing pauses one turn, or lets it go on: the workflows of all turns of a session have
// one id.
type pausing struct {
	Turn  int  `json:"turn"`
	Pause bool `json:"pause"`
}

// SetPaused implements coordinator.Play.
func (r *remote) SetPaused(ctx context.Context, pause bool) error {
	if err := r.signal(ctx, pauseSignal, pausing{r.number, pause}); err != nil {
		return fmt.Errorf("pause or resume the turn: %w", err)
	}
	return nil
}

// hearPauses takes the pauses that are signalled. What is so already changes nothing.
func (p *player) hearPauses() {
	workflow.Go(p.root, func(ctx workflow.Context) {
		signals := workflow.GetSignalChannel(ctx, pauseSignal)
		for {
			var in pausing
			signals.Receive(ctx, &in)
			if in.Turn != p.number {
				continue
			}
			m := p.driver.Machine()
			p.happened(happening{event: func(at kernel.Time) turn.Event {
				switch {
				case m.Over() || m.IsPaused() == in.Pause:
					return nil
				case in.Pause:
					return turn.Paused{At: at}
				}
				return turn.Unpaused{At: at}
			}})
		}
	})
}
