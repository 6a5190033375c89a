package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// dismissal is a person's request to go on without an agent.
type dismissal struct {
	request
	turn  *Turn
	agent string
}

// Events implements driver.Post. An impossible dismissal costs the turn nothing.
func (d *dismissal) Events(at kernel.Time) ([]turn.Event, error) {
	agent, err := mayDismiss(d.turn.local.machine, d.agent)
	if err != nil {
		d.fault = err
		return nil, nil //nolint:nilerr // the person gets the error, and the turn goes on
	}
	return []turn.Event{kernel.Dismissed{At: at, Agent: agent}}, nil
}

// mayDismiss is MayDismiss of the machine, and returns driver.ErrOver after the end.
func mayDismiss(m *turn.Machine, id string) (agent int, err error) {
	if m.Over() {
		return 0, driver.ErrOver
	}
	return m.MayDismiss(id)
}

// dismisser is a RemoteTurn that can go on without an agent. Dismiss returns when the remote
// process has the request, which it ignores if the turn cannot go on so. The error is
// driver.ErrOver if the turn is known to be over.
type dismisser interface {
	Dismiss(ctx context.Context, agent string) error
}

// passDismissal sends the dismissal on, unless the journal shows that it is impossible.
func (w *watcher) passDismissal(d *dismissal) {
	remote, can := w.remote.(dismisser)
	if !can {
		d.Reply(errors.New("its workers cannot go on without an agent"))
		return
	}
	_, err := mayDismiss(w.machine, d.agent)
	if err == nil {
		err = remote.Dismiss(w.base, d.agent)
	}
	d.Reply(err)
}

// Dismiss lets the turn go on without an agent (DESIGN §4 rule 13): its calls are cancelled,
// its last answer stays a candidate, and it makes no further call in this turn. Dismiss returns
// when the journal has the dismissal, or with Options.Remote when the turn's workers have it.
// The error is driver.ErrOver after the end. Otherwise it says why the turn cannot go on
// without that agent, or names a fault of the store or ctx.
func (t *Turn) Dismiss(ctx context.Context, agent string) error {
	what := fmt.Sprintf("go on with turn %s without %s", t.ID(), agent)
	return t.request(ctx, what, func(r request) driver.Post {
		return &dismissal{request: r, turn: t, agent: agent}
	})
}
