package engine

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
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
			p.happened(happening{event: func(at kernel.Time) turn.Event {
				switch {
				case p.machine.Over() || p.machine.IsPaused() == in.Pause:
					return nil
				case in.Pause:
					return turn.Paused{At: at}
				}
				return turn.Unpaused{At: at}
			}})
		}
	})
}

// clock is the turn's: no time of the turn passes while it is stopped.
type clock struct {
	// Slept is for how long it was stopped before, and Stopped when it was stopped, 0 while
	// it runs.
	Slept   kernel.Time `json:"slept,omitempty"`
	Stopped kernel.Time `json:"stopped,omitempty"`
}

// now returns the time of the turn.
func (p *player) now() kernel.Time {
	if p.clock.Stopped > 0 {
		return p.clock.Stopped - p.clock.Slept
	}
	return now(p.root) - p.clock.Slept
}

func (p *player) setClock(runs bool) {
	if !runs {
		p.clock.Stopped = now(p.root)
		if p.unwake != nil {
			p.unwake()
		}
		return
	}
	p.clock = clock{Slept: p.clock.Slept + now(p.root) - p.clock.Stopped}
	if p.wake > 0 {
		p.wakeAt(p.wake)
	}
}
