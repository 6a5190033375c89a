package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/driver"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/turn"
)

// dismissal is a person who goes on without an agent.
type dismissal struct {
	unheard
	turn  *Turn
	agent string
	word  chan<- error
	fault error
}

// Events implements driver.Post. A dismissal that cannot be costs the turn nothing.
func (d *dismissal) Events(at kernel.Time) ([]turn.Event, error) {
	agent, err := mayDismiss(d.turn.local.machine, d.agent)
	if err != nil {
		d.fault = err
		return nil, nil //nolint:nilerr // it is the reply to the person, and does not end the turn
	}
	return []turn.Event{turn.Dismissed{At: at, Agent: agent}}, nil
}

// Reply implements driver.Post.
func (d *dismissal) Reply(err error) { d.word <- cmp.Or(err, d.fault) }

// mayDismiss is MayDismiss of the machine, with driver.ErrOver after the end.
func mayDismiss(m *turn.Machine, id string) (agent int, err error) {
	if m.Over() {
		return 0, driver.ErrOver
	}
	return m.MayDismiss(id)
}

// dismisser is a RemoteTurn that can go on without an agent. Dismiss returns when the remote
// process has heard of it, which ignores it if the turn cannot. The error is driver.ErrOver if
// the turn is known to be over.
type dismisser interface {
	Dismiss(ctx context.Context, agent string) error
}

// passDismissal passes on that the turn goes on without an agent, unless the journal shows that
// it cannot.
func (w *watcher) passDismissal(d *dismissal) {
	play, can := w.play.(dismisser)
	if !can {
		d.Reply(errors.New("its workers cannot go on without an agent"))
		return
	}
	_, err := mayDismiss(w.machine, d.agent)
	if err == nil {
		err = play.Dismiss(w.base, d.agent)
	}
	d.Reply(err)
}

// Dismiss lets the turn go on without an agent (DESIGN §4 rule 13): its calls are cancelled, its
// last answer stays among the candidates, and it is asked no more in this turn. Dismiss returns
// when the journal has it, or with Options.Remote when the turn's workers were told. The error
// is driver.ErrOver after the end, else it says why the turn cannot go on without that agent, or
// what is wrong with the store or ctx.
func (t *Turn) Dismiss(ctx context.Context, agent string) error {
	word := make(chan error, 1)
	t.inbox.put(&dismissal{turn: t, agent: agent, word: word})
	if err := heard(ctx, word); err != nil {
		return fmt.Errorf("go on with turn %s without %s: %w", t.ID(), agent, err)
	}
	return nil
}
