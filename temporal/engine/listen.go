package engine

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// listen handles outside messages: interrupts, notes, attempts that request budget, and queries
// of the progress.
func (p *player) listen(ctx workflow.Context) error {
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		p.interrupt()
	})
	onSignal(p, interruptSignal, func(workflow.Context, toTurn) { p.interrupt() })
	onSignal(p, noteSignal, p.hearNote)
	onSignal(p, pauseSignal, p.hearPause)
	onSignal(p, dismissSignal, p.hearDismissal)
	onSignal(p, attendSignal, func(_ workflow.Context, a attendance) { p.questions.question(a.Key).attended++ })
	onSignal(p, homeSignal, func(_ workflow.Context, h endedHome) {
		if p.in.Form >= turnsByTexts {
			p.home.ended(h.Queue)
		} else {
			p.home.lose(h.Queue)
		}
	})
	onSignal(p, decideSignal, func(_ workflow.Context, d decision) { p.questions.question(d.Key).take(d) })
	return errors.Join(
		workflow.SetQueryHandler(p.root, progressQuery, p.progress),
		workflow.SetUpdateHandler(p.root, begunUpdate, func(ctx workflow.Context) (int, error) {
			err := workflow.Await(ctx, func() bool { return p.journal.number > 0 })
			return p.journal.number, err
		}),
		workflow.SetUpdateHandler(p.root, reserveUpdate, p.reserve),
		workflow.SetQueryHandler(p.root, permittedQuery, p.permitted),
		workflow.SetUpdateHandler(p.root, settleUpdate, p.settle),
	)
}

// toTurn is the part of a signal that names its turn: the workflows of all turns of a session
// have one id.
type toTurn struct {
	Turn int `json:"turn"`
}

func (t toTurn) number() int { return t.Turn }

// onSignal handles the signals of a name to this turn, in their order.
func onSignal[T interface{ number() int }](p *player, name string, take func(ctx workflow.Context, in T)) {
	workflow.Go(p.root, func(ctx workflow.Context) {
		for {
			var in T
			workflow.GetSignalChannel(ctx, name).Receive(ctx, &in)
			if in.number() == p.journal.number {
				take(ctx, in)
			}
		}
	})
}

// interrupt ends the turn with the best answer so far, once.
func (p *player) interrupt() {
	if p.cut {
		return
	}
	p.cut = true
	p.happened(happening{event: func(at kernel.Time) turn.Event { return kernel.Interrupted{At: at} }})
}

func (p *player) progress() (progress, error) {
	m := p.driver.Machine()
	g := progress{Number: p.journal.number, Events: p.journal.events, Out: p.driver.Out(), Repeated: m.Repeated()}
	for _, u := range m.Usage() {
		g.Calls += u.Calls
	}
	if p.journal.number > 0 {
		g.State = m.Describe()
	}
	return g, nil
}

// The answers to an attempt whose worker counts as lost, that has to ask again, and that comes
// too late.
const (
	lostWord = "its worker is lost"
	waitWord = "it waits for the budget"
	overWord = "the turn is over"
)

// answersAtOnce names the change after which a waiting attempt gets an answer at once and asks
// again. Before the change the update waited, and a workflow can have ten of these. Turns and
// workers from before the change still work so.
const answersAtOnce = "reserve answers at once"

// shortensOutput names the change after which an attempt may be granted with less output than
// requested. A turn in which an older version has refused an attempt goes on without it.
const shortensOutput = "reserve shortens the output"

// reserve enters an attempt, and returns whether it may be sent, or waitWord.
func (p *player) reserve(ctx workflow.Context, r reservation) (said answer, err error) {
	if r.Try < p.tries[r.Key] {
		return answer{refused: lostWord}, nil
	}
	if r.Least != (budget.Amount{}) && workflow.GetVersion(ctx, shortensOutput, workflow.DefaultVersion, 1) < 1 {
		r.Least = budget.Amount{}
	}
	r.Asks = r.Asks && workflow.GetVersion(ctx, answersAtOnce, workflow.DefaultVersion, 1) == 1
	if r.Asks {
		delete(p.permits, r.Key) // of the call's earlier attempt
	}
	isEntered := false
	p.happened(happening{
		event: func(at kernel.Time) turn.Event {
			return turn.Reserving{At: at, Key: r.Key, Most: r.Most, Least: r.Least}
		},
		heard: func(err error) {
			isEntered = true
			if err != nil {
				p.Grant(r.Key, 0, err.Error())
			}
		},
	})
	mine := p.permit(r.Key)
	if err := workflow.Await(ctx, func() bool { return mine.decided || r.Asks && isEntered || p.driver.Done() }); err != nil {
		return answer{}, fmt.Errorf("wait for the budget: %w", err)
	}
	if r.Asks {
		return p.permitted(r)
	}
	if !mine.decided {
		return answer{refused: overWord}, nil
	}
	if p.permits[r.Key] == mine {
		delete(p.permits, r.Key)
	}
	return mine.answer, nil
}

// permitted returns the answer to an entered attempt, as reserve does. It changes nothing.
func (p *player) permitted(r reservation) (said answer, err error) {
	mine := p.permits[r.Key]
	switch {
	case r.Try < p.tries[r.Key]:
		return answer{refused: lostWord}, nil
	case mine != nil && mine.decided:
		return mine.answer, nil
	case mine == nil || p.driver.Done():
		return answer{refused: overWord}, nil
	}
	return answer{refused: waitWord}, nil
}

// settle returns when the end of an attempt is booked. An attempt that still waits was given
// up.
func (p *player) settle(ctx workflow.Context, s settlement) error {
	if s.Try < p.tries[s.Key] {
		return nil // it was booked when its worker was lost
	}
	booked := false
	p.happened(happening{
		event: s.event,
		heard: func(error) {
			booked = true
			p.giveUp(s.Key, "it was given up")
		},
	})
	return workflow.Await(ctx, func() bool { return booked || p.driver.Done() })
}
