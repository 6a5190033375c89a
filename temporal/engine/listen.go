package engine

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/turn"
)

// listen takes what comes from outside: interrupts, notes, attempts that want to be sent, and
// questions about the progress.
func (p *player) listen(ctx workflow.Context) error {
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		p.interrupt()
	})
	onSignal(p, interruptSignal, func(workflow.Context, toTurn) { p.interrupt() })
	onSignal(p, noteSignal, p.hearNote)
	onSignal(p, pauseSignal, p.hearPause)
	onSignal(p, attendSignal, func(_ workflow.Context, a attendance) { p.questions.question(a.Key).attended++ })
	onSignal(p, decideSignal, func(_ workflow.Context, d decision) { p.questions.question(d.Key).take(d) })
	return errors.Join(
		workflow.SetQueryHandler(p.root, progressQuery, p.progress),
		workflow.SetUpdateHandler(p.root, begunUpdate, func(ctx workflow.Context) (int, error) {
			err := workflow.Await(ctx, func() bool { return p.number > 0 })
			return p.number, err
		}),
		workflow.SetUpdateHandler(p.root, reserveUpdate, p.reserve),
		workflow.SetUpdateHandler(p.root, settleUpdate, p.settle),
	)
}

// toTurn is the part of a signal that names its turn: the workflows of all turns of a session
// have one id.
type toTurn struct {
	Turn int `json:"turn"`
}

func (t toTurn) number() int { return t.Turn }

// onSignal takes the signals of a name to this turn, in their order.
func onSignal[T interface{ number() int }](p *player, name string, take func(ctx workflow.Context, in T)) {
	workflow.Go(p.root, func(ctx workflow.Context) {
		for {
			var in T
			workflow.GetSignalChannel(ctx, name).Receive(ctx, &in)
			if in.number() == p.number {
				take(ctx, in)
			}
		}
	})
}

// interrupt ends the turn with the best so far, once.
func (p *player) interrupt() {
	if p.cut {
		return
	}
	p.cut = true
	p.happened(happening{event: func(at kernel.Time) turn.Event { return turn.Interrupted{At: at} }})
}

func (p *player) progress() (Progress, error) {
	m := p.driver.Machine()
	g := Progress{Number: p.number, Events: p.events, Out: p.driver.Out(), Repeated: m.Repeated()}
	for _, u := range m.Usage() {
		g.Calls += u.Calls
	}
	if p.number > 0 {
		g.State = m.Describe()
	}
	return g, nil
}

// lostWord is what an attempt hears that asks for a worker which counts as lost.
const lostWord = "its worker is lost"

// reserve waits until an attempt may be sent, and returns why it may not, "" if it may.
func (p *player) reserve(ctx workflow.Context, r reservation) (refused string, err error) {
	if r.Try < p.tries[r.Key] {
		return lostWord, nil
	}
	p.happened(happening{
		event: func(at kernel.Time) turn.Event { return turn.Reserving{At: at, Key: r.Key, Most: r.Most} },
		heard: func(err error) {
			if err != nil {
				p.Grant(r.Key, err.Error())
			}
		},
	})
	mine := p.permit(r.Key)
	if err := workflow.Await(ctx, func() bool { return mine.decided || p.driver.Done() }); err != nil {
		return "", fmt.Errorf("wait for the budget: %w", err)
	}
	if !mine.decided {
		return "the turn is over", nil
	}
	if p.permits[r.Key] == mine {
		delete(p.permits, r.Key)
	}
	return mine.refused, nil
}

// settle returns when the end of an attempt is booked. One that waits was given up.
func (p *player) settle(ctx workflow.Context, s settlement) error {
	if s.Try < p.tries[s.Key] {
		return nil // it was booked when its worker was lost
	}
	booked := false
	p.happened(happening{
		event: func(at kernel.Time) turn.Event { return turn.Settled{At: at, Key: s.Key, Spent: s.Spent} },
		heard: func(error) {
			booked = true
			p.giveUp(s.Key, "it was given up")
		},
	})
	return workflow.Await(ctx, func() bool { return booked || p.driver.Done() })
}
