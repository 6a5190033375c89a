package coordinator

import (
	"context"

	"github.com/massgen/massgen/internal/machine"
)

// Decider is a RemoteTurn that leaves the questions about tool calls to those who watch it. A
// Play that is none decides by itself.
type Decider interface {
	// Decide has a question answered, and returns when the answer was sent or ctx is done.
	// Attended says that ask asks a person, who may take their time: as long as they do,
	// nothing that is said without a person counts. An answer to a question that is not
	// open any more changes nothing.
	Decide(ctx context.Context, question machine.Key, attended bool, ask func(context.Context) (Decision, error)) error
}

// Unattended says whether a tool call may run that nobody can be asked about.
func (p *Panel) Unattended() bool { return p.opts.Unattended }

// UnattendedReason is what a model is told of a call that nobody was there to allow.
const UnattendedReason = "nobody is there to allow it"

// attendant has the questions of a turn that another process plays put to a person, one at a
// time. The goroutine that follows the journal owns it.
type attendant struct {
	view *view
	play Decider // nil for a play that asks nobody
	// asked is the last question, asked once: its answer may not be in the journal yet.
	asked machine.Key
	// cancel takes it back, nil while nobody is asked. Then done gets the error.
	cancel context.CancelFunc
	done   chan error
}

func newAttendant(v *view, play RemoteTurn) *attendant {
	a := &attendant{view: v, done: make(chan error), asked: machine.Key{Agent: machine.NoAgent}}
	a.play, _ = play.(Decider)
	return a
}

// attend asks what the journal has come to ask, and takes back what is answered there.
func (a *attendant) attend() {
	ask, isAsking := a.view.machine.OpenPermission()
	if a.cancel != nil {
		if !isAsking || ask.Key != a.asked {
			a.cancel()
		}
		return
	}
	if a.play == nil || !isAsking || ask.Key == a.asked {
		return
	}
	ctx, cancel := context.WithCancel(a.view.base)
	a.asked, a.cancel = ask.Key, cancel
	go func() {
		a.done <- a.play.Decide(ctx, ask.Key, a.view.panel.opts.Approve != nil, func(ctx context.Context) (Decision, error) {
			return a.view.approve(ctx, ask)
		})
	}()
}

// ended lets go of the question whose error was taken.
func (a *attendant) ended() {
	a.cancel()
	a.cancel = nil
}

// stop takes back what is asked, and waits for whoever asks.
func (a *attendant) stop() error {
	if a.cancel == nil {
		return nil
	}
	a.cancel()
	err := <-a.done
	a.ended()
	return err
}
