package turn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
)

// asides are the calls that belong to no agent (DESIGN §1): some before round 1,
// some after the winner is committed. The kernel knows of neither.
type asides struct {
	// Waiting are those that are out.
	Waiting []machine.Aside `json:"waiting,omitempty"`
	// Interrupted says that the turn is to end as soon as those before round 1 are back,
	// Committed that those after its end were asked for.
	Interrupted bool `json:"interrupted,omitempty"`
	Committed   bool `json:"committed,omitempty"`
	// Usage is that of the calls before round 1, Following that of those after the end.
	Usage     budget.Usage   `json:"usage,omitzero"`
	Following budget.Usage   `json:"following,omitzero"`
	Ended     []AsideOutcome `json:"ended,omitempty"`
}

// AsideOutcome is what a call that belongs to no agent came to.
type AsideOutcome struct {
	Purpose machine.Purpose `json:"purpose"`
	// Failure is why nothing came of it, empty if something did.
	Failure string `json:"failure,omitempty"`
	// Fallback is set if another model than that of the aside was called.
	Fallback *machine.Fallback `json:"fallback,omitempty"`
	// Truncated says that the reply was cut at its most tokens.
	Truncated bool `json:"truncated,omitempty"`
}

// Committed is the winner in the history, after which calls may follow that no
// answer depends on.
type Committed struct {
	At     kernel.Time     `json:"at"`
	Asides []machine.Aside `json:"asides"`
}

func (e Committed) at() kernel.Time { return e.At }

func (Committed) kind() string { return "committed" }

// AsideStarted tells of a call that belongs to no agent.
type AsideStarted struct{ Aside machine.Aside }

// AsideEnded tells what it came to.
type AsideEnded struct {
	Outcome AsideOutcome
	Usage   budget.Usage
}

func (AsideStarted) command() {}
func (AsideEnded) command()   {}

// AsideOutcomes returns what the calls that belong to no agent came to, those first
// that ended first.
func (m *Machine) AsideOutcomes() []AsideOutcome { return slices.Clone(m.s.Asides.Ended) }

// AsidesUsage returns what the calls before round 1 that belong to no agent have cost,
// FollowingUsage what those after the winner was committed have.
func (m *Machine) AsidesUsage() budget.Usage { return m.s.Asides.Usage }

// FollowingUsage is described at AsidesUsage.
func (m *Machine) FollowingUsage() budget.Usage { return m.s.Asides.Following }

// ask sends out asides.
func (m *Machine) ask(list []machine.Aside) {
	m.s.Asides.Waiting = slices.Clone(list)
	for _, a := range list {
		m.out = append(m.out, AsideStarted{a}, Run{machine.ModelCall{Key: a.Key(), Aside: &a}})
	}
}

func (m *Machine) committed(ev Committed) error {
	switch {
	case !m.Over() || m.s.Kernel.Result().Winner == nil:
		return errors.New("the turn has no winner")
	case m.s.Asides.Committed:
		return errors.New("the turn was committed already")
	}
	m.s.Asides.Committed = true
	m.ask(ev.Asides)
	return nil
}

// asideDone books the reply to an aside, and begins round 1 after the last of those
// that come before it.
func (m *Machine) asideDone(ev ModelDone) error {
	i := slices.IndexFunc(m.s.Asides.Waiting, func(a machine.Aside) bool { return a.Key() == ev.Key })
	if i < 0 || m.isHeld(ev.Key) {
		return fmt.Errorf("no effect %s is out", ev.Key)
	}
	m.s.Asides.Waiting = slices.Delete(m.s.Asides.Waiting, i, i+1)
	told := AsideEnded{Outcome: AsideOutcome{Purpose: ev.Key.Purpose, Fallback: ev.Reply.Fallback, Truncated: ev.Reply.Truncated}, Usage: UsageOf(ev.Reply)}
	if f := ev.Reply.Failure; f != nil {
		told.Outcome.Failure = f.Message
	}
	m.s.Asides.Ended = append(m.s.Asides.Ended, told.Outcome)
	m.book(machine.NoAgent, told.Usage)
	m.out = append(m.out, told)
	m.s.Turn = m.s.Turn.Changed(ev.Reply.Change)
	if len(m.s.Asides.Waiting) > 0 || m.Over() {
		return nil
	}
	return m.beginRounds(ev.At)
}

// beginRounds tells the kernel that the turn begins, and, if it has been so
// meanwhile, that it was interrupted.
func (m *Machine) beginRounds(at kernel.Time) error {
	if err := m.decide(kernel.Accepted{At: at}); err != nil || !m.s.Asides.Interrupted {
		return err
	}
	if err := m.decide(kernel.Interrupted{At: at}); err != nil {
		return err
	}
	return m.callOff(at)
}

// callOff takes back the calls that were asked for and not made yet.
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
		reply := machine.ModelReply{Failure: &machine.Failure{Kind: "cancelled", Message: "it was not begun"}}
		if err := m.stepEvent(at, agent, reply); err != nil {
			return err
		}
	}
	return nil
}

// interrupted passes an interrupt on to the kernel. One that comes while asides are
// out cancels those: before round 1 the kernel hears of it when they are back, after
// the end there is nothing else to cut.
func (m *Machine) interrupted(ev Interrupted) error {
	m.goOn()
	if len(m.s.Asides.Waiting) == 0 {
		return m.decide(kernel.Interrupted{At: ev.At})
	}
	m.s.Asides.Interrupted = true
	m.out = append(m.out, Cancel{machine.NoAgent})
	return nil
}
