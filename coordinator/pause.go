package coordinator

import (
	"context"

	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// pausing is a post: a person's request to pause a turn, or to let it go on.
type pausing struct {
	request
	turn  *Turn
	pause bool
}

// Events implements driver.Post. A request for the present state changes nothing.
func (p *pausing) Events(at kernel.Time) ([]turn.Event, error) {
	m := p.turn.local.view.machine
	switch {
	case m.Over():
		p.fault = driver.ErrOver
		return nil, nil
	case m.IsPaused() == p.pause:
		return nil, nil
	case p.pause:
		return []turn.Event{turn.Paused{At: at}}, nil
	}
	return []turn.Event{turn.Unpaused{At: at}}, nil
}

// Pause pauses the turn: calls under way go on, no other call begins, and the turn's time
// stands still, until Resume or Cancel, or until a process resumes the turn. Pausing a paused
// turn changes nothing. Pause returns when the journal has the pause, or with Options.Remote
// when the turn's workers have it. The error is driver.ErrOver after the end. Otherwise it
// names a fault of the store or ctx.
func (t *Turn) Pause(ctx context.Context) error { return t.setPaused(ctx, true, "pause") }

// Resume lets a paused turn go on. It returns as Pause does.
func (t *Turn) Resume(ctx context.Context) error { return t.setPaused(ctx, false, "resume") }

func (t *Turn) setPaused(ctx context.Context, pause bool, verb string) error {
	return t.request(ctx, verb+" turn "+t.ID(), func(r request) driver.Post {
		return &pausing{request: r, turn: t, pause: pause}
	})
}
