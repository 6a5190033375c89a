package coordinator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/massgen/massgen/internal/driver"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/turn"
)

// pausing is a person's request to pause a turn, or to let it go on.
type pausing struct {
	unheard
	turn  *Turn
	pause bool
	word  chan<- error
	fault error
}

// Events implements driver.Post. A request for the present state changes nothing.
func (p *pausing) Events(at kernel.Time) ([]turn.Event, error) {
	m := p.turn.local.machine
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

// Reply implements driver.Post.
func (p *pausing) Reply(err error) { p.word <- cmp.Or(err, p.fault) }

// Pause pauses the turn: calls under way go on, no other call begins, and the turn's time
// stands still, until Resume or Cancel, or until a process resumes the turn. Pausing a paused
// turn changes nothing. Pause returns when the journal has the pause, or with Options.Remote
// when the turn's workers have it. The error is driver.ErrOver after the end. Otherwise it
// names a fault of the store or ctx.
func (t *Turn) Pause(ctx context.Context) error { return t.setPaused(ctx, true, "pause") }

// Resume lets a paused turn go on. It returns as Pause does.
func (t *Turn) Resume(ctx context.Context) error { return t.setPaused(ctx, false, "resume") }

func (t *Turn) setPaused(ctx context.Context, pause bool, verb string) error {
	word := make(chan error, 1)
	t.inbox.put(&pausing{turn: t, pause: pause, word: word})
	if err := heard(ctx, word); err != nil {
		return fmt.Errorf("%s turn %s: %w", verb, t.ID(), err)
	}
	return nil
}

// heard waits for the reply to a post. After an error of ctx the driver may still take the
// post.
func heard(ctx context.Context, word <-chan error) error {
	select {
	case err := <-word:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
