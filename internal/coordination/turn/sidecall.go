package turn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// sidecalls are the calls that belong to no agent (DESIGN §1): some before round 1, some after
// the winner is committed. The kernel does not know of them.
type sidecalls struct {
	// Waiting are the sidecalls under way.
	Waiting []effect.Sidecall `json:"waiting,omitempty"`
	// Interrupted reports whether the turn ends as soon as the sidecalls before round 1 have
	// returned, Committed that those after its end were requested.
	Interrupted bool `json:"interrupted,omitempty"`
	Committed   bool `json:"committed,omitempty"`
	// Usage is the usage of the calls before round 1, Following that of those after the end.
	Usage     budget.Usage      `json:"usage,omitzero"`
	Following budget.Usage      `json:"following,omitzero"`
	Ended     []SidecallOutcome `json:"ended,omitempty"`
}

// SidecallOutcome is the outcome of a sidecall.
type SidecallOutcome struct {
	Purpose effect.Purpose `json:"purpose"`
	// Failure is the reason why it failed, empty after a success.
	Failure string `json:"failure,omitempty"`
	// Fallback is set if another model than the sidecall's own was called.
	Fallback *effect.Fallback `json:"fallback,omitempty"`
	// Truncated reports whether the reply was cut at its output limit.
	Truncated bool `json:"truncated,omitempty"`
	// Finish is the provider's word for another end that was none of a whole reply.
	Finish string `json:"finish,omitempty"`
}

// Committed reports that the winner is in the history. Calls may follow that no answer depends on.
type Committed struct {
	At        kernel.Time       `json:"at"`
	Sidecalls []effect.Sidecall `json:"asides"`
}

func (e Committed) When() kernel.Time { return e.At }

// SidecallStarted reports that a sidecall begins.
type SidecallStarted struct{ Sidecall effect.Sidecall }

// SidecallEnded has the outcome of a sidecall.
type SidecallEnded struct {
	Outcome SidecallOutcome
	Usage   budget.Usage
}

// SidecallOutcomes returns the outcomes of the sidecalls, in the order of their ends.
func (m *Machine) SidecallOutcomes() []SidecallOutcome { return slices.Clone(m.s.Sidecalls.Ended) }

// SidecallsUsage returns the cost of the sidecalls before round 1.
func (m *Machine) SidecallsUsage() budget.Usage { return m.s.Sidecalls.Usage }

// UsageAfter returns the cost of the sidecalls after the winner was committed.
func (m *Machine) UsageAfter() budget.Usage { return m.s.Sidecalls.Following }

// ask commands sidecalls.
func (m *Machine) ask(list []effect.Sidecall) {
	m.s.Sidecalls.Waiting = slices.Clone(list)
	for _, a := range list {
		m.out = append(m.out, SidecallStarted{a}, Run{effect.ModelCall{Key: a.Key(), Sidecall: &a}})
	}
}

func (m *Machine) committed(ev Committed) error {
	switch {
	case !m.Over() || m.s.Kernel.Result().Winner == nil:
		return errors.New("the turn has no winner")
	case m.s.Sidecalls.Committed:
		return errors.New("the turn was committed already")
	}
	m.s.Sidecalls.Committed = true
	m.ask(ev.Sidecalls)
	return nil
}

// sidecallDone books the reply to a sidecall, and begins round 1 after the last one before it.
func (m *Machine) sidecallDone(ev ModelDone) error {
	i := slices.IndexFunc(m.s.Sidecalls.Waiting, func(a effect.Sidecall) bool { return a.Key() == ev.Key })
	if i < 0 || m.isHeld(ev.Key) {
		return fmt.Errorf("no effect %s is out", ev.Key)
	}
	m.s.Sidecalls.Waiting = slices.Delete(m.s.Sidecalls.Waiting, i, i+1)
	told := SidecallEnded{Outcome: SidecallOutcome{Purpose: ev.Key.Purpose, Fallback: ev.Reply.Fallback, Truncated: ev.Reply.Truncated, Finish: ev.Reply.Finish}, Usage: UsageOf(ev.Reply)}
	if f := ev.Reply.Failure; f != nil {
		told.Outcome.Failure = f.Message
	}
	m.s.Sidecalls.Ended = append(m.s.Sidecalls.Ended, told.Outcome)
	m.book(effect.NoAgent, told.Usage)
	m.out = append(m.out, told)
	m.s.Turn = m.s.Turn.Changed(ev.Reply.Change)
	if len(m.s.Sidecalls.Waiting) > 0 || m.Over() {
		return nil
	}
	return m.beginRounds(ev.At)
}

// beginRounds gives the kernel the start of the turn and, if one came meanwhile, the interrupt.
func (m *Machine) beginRounds(at kernel.Time) error {
	if err := m.decide(kernel.Opened{At: at}); err != nil || !m.s.Sidecalls.Interrupted {
		return err
	}
	if err := m.decide(kernel.Interrupted{At: at}); err != nil {
		return err
	}
	return m.callOff(at)
}

// callOff withdraws the calls that were commanded and not made yet.
func (m *Machine) callOff(at kernel.Time) error {
	var calledOff []int
	m.out = slices.DeleteFunc(m.out, func(c Command) bool {
		run, ok := c.(Run)
		if ok {
			calledOff = append(calledOff, run.Effect.EffectKey().Agent)
		}
		return ok
	})
	for _, agent := range calledOff {
		reply := effect.ModelReply{Failure: &effect.Failure{Kind: "cancelled", Message: "it was not begun"}}
		if err := m.reply(at, agent, reply); err != nil {
			return err
		}
	}
	return nil
}

// interrupted passes an interrupt on to the kernel. While sidecalls are out, it cancels them
// instead: before round 1 the kernel gets the interrupt when they have returned, and after the
// end there is nothing else to cut.
func (m *Machine) interrupted(ev kernel.Interrupted) error {
	m.goOn()
	if len(m.s.Sidecalls.Waiting) == 0 {
		return m.decide(ev)
	}
	m.s.Sidecalls.Interrupted = true
	m.out = append(m.out, kernel.Cancel{Agent: effect.NoAgent})
	return nil
}
