package engine

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// pausing pauses a turn, or lets it go on.
type pausing struct {
	toTurn
	Pause bool `json:"pause"`
}

// SetPaused implements coordinator.RemoteTurn.
func (r *remote) SetPaused(ctx context.Context, pause bool) error {
	if err := r.signal(ctx, pauseSignal, pausing{toTurn{r.number}, pause}); err != nil {
		return fmt.Errorf("pause or resume the turn: %w", err)
	}
	return nil
}

// hearPause pauses the turn, or lets it go on. A request for the present state changes nothing.
func (p *player) hearPause(_ workflow.Context, in pausing) {
	m := p.driver.Machine()
	p.happened(happening{event: func(at kernel.Time) turn.Event {
		switch {
		case m.Over() || m.IsPaused() == in.Pause:
			return nil
		case in.Pause:
			keepWhilePaused(p)
			return turn.Paused{At: at}
		}
		p.timer.letGo()
		return turn.Unpaused{At: at}
	}})
}

// keepWhilePaused keeps the session for a paused turn, for which no worker works. Turns of the older form do without.
func keepWhilePaused(p *player) {
	if p.in.Form >= turnsByTexts {
		p.timer.letGo = p.keepSession(p.root)
	}
}
