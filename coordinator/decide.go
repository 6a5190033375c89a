package coordinator

import (
	"context"

	"github.com/massgen/massgen/internal/coordination/effect"
)

// Decider is a RemoteTurn that leaves the questions about tool calls to the processes that
// watch it. Any other RemoteTurn decides by itself.
type Decider interface {
	// Decide gets an answer to a question, and returns when the answer was sent or ctx is done.
	// Attended says that ask asks a person, who may take their time: meanwhile no answer
	// without a person counts. An answer to a closed question changes nothing.
	Decide(ctx context.Context, question effect.Key, attended bool, ask func(context.Context) (Decision, error)) error
}

// Unattended reports whether a tool call may run if no person can be asked about it.
func (p *Panel) Unattended() bool { return p.opts.Unattended }

// UnattendedReason is the reason that a model gets for a call that no person could allow.
const UnattendedReason = "nobody is there to allow it"

// attendant puts the questions of a turn that another process plays to a person, one at a time.
// The goroutine that follows the journal owns it.
type attendant struct {
	view   *view
	remote Decider // nil if the RemoteTurn decides by itself
	// asked is the last question that was put. Its answer may not be in the journal yet.
	asked effect.Key
	// cancel withdraws the question; it is nil while none is open. Then done gets the error.
	cancel context.CancelFunc
	done   chan error
}

func newAttendant(v *view, remote RemoteTurn) *attendant {
	a := &attendant{view: v, done: make(chan error), asked: effect.Key{Agent: effect.NoAgent}}
	a.remote, _ = remote.(Decider)
	return a
}

// attend puts the open question of the journal, and withdraws one that is answered there.
func (a *attendant) attend() {
	ask, isAsking := a.view.machine.OpenPermission()
	if a.cancel != nil {
		if !isAsking || ask.Key != a.asked {
			a.cancel()
		}
		return
	}
	if a.remote == nil || !isAsking || ask.Key == a.asked {
		return
	}
	ctx, cancel := context.WithCancel(a.view.base)
	a.asked, a.cancel = ask.Key, cancel
	go func() {
		a.done <- a.remote.Decide(ctx, ask.Key, a.view.panel.opts.Approve != nil, func(ctx context.Context) (Decision, error) {
			return a.view.approve(ctx, ask)
		})
	}()
}

// ended clears the question whose error was received.
func (a *attendant) ended() {
	a.cancel()
	a.cancel = nil
}

// stop withdraws the open question, and waits for its goroutine.
func (a *attendant) stop() error {
	if a.cancel == nil {
		return nil
	}
	a.cancel()
	err := <-a.done
	a.ended()
	return err
}
