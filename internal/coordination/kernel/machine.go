package kernel

import (
	"errors"
	"fmt"
	"slices"
)

// Machine is the state of one turn's coordination. The zero value is only for
// UnmarshalJSON.
type Machine struct {
	cfg Config
	s   state
	out []Command
	// index follows from s; nil until it is needed.
	index *index
}

// New returns the machine of a turn that has not been accepted yet. The error is
// Config.Validate's.
func New(cfg Config) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	members := make([]member, len(cfg.Agents))
	for i := range members {
		members[i].Phase = Idle
	}
	return &Machine{cfg: cfg, s: state{Stage: stageNew, Members: members, Winner: -1}}, nil
}

// Config returns the rules of the turn.
func (m *Machine) Config() Config { return m.cfg }

// Over reports whether the turn has its result, which no further event changes.
func (m *Machine) Over() bool { return m.s.Stage == stageOver }

// Apply applies one event and returns the commands that follow. An event that is
// impossible in this state is an error and changes nothing: the caller, or its journal, is
// damaged.
func (m *Machine) Apply(ev Event) ([]Command, error) {
	if err := m.check(ev); err != nil {
		return nil, fmt.Errorf("kernel: %T at %d: %w", ev, ev.When(), err)
	}
	m.out = nil
	m.s.Now = max(m.s.Now, ev.When())
	m.take(ev)
	m.applyTimeLimits()
	m.advance()
	m.wake()
	return m.out, nil
}

func (m *Machine) emit(c Command) { m.out = append(m.out, c) }

// check refuses impossible events. After the end it accepts all: cancelled calls return
// then.
func (m *Machine) check(ev Event) error {
	if _, first := ev.(Opened); first != (m.s.Stage == stageNew) {
		return fmt.Errorf("the turn is %s", m.s.Stage)
	}
	if m.Over() {
		return nil
	}
	switch ev := ev.(type) {
	case Answered:
		if err := m.checkAct(ev.Agent, ev.Seen); err != nil {
			return err
		}
		if !m.s.Members[ev.Agent].MayAnswer {
			return fmt.Errorf("agent %d was not offered a new answer", ev.Agent)
		}
	case Voted:
		return m.checkVote(ev)
	case Abstained:
		return m.checkAct(ev.Agent, ev.Seen)
	case OutOfTurns:
		return m.checkAct(ev.Agent, ev.Seen)
	case Failed:
		return m.checkPhase(ev.Agent, Busy, Late)
	case Dismissed:
		return m.MayDismiss(ev.Agent)
	case Stopped:
		return m.checkPhase(ev.Agent, Stopping)
	case Presented:
		if !m.s.Presenting {
			return errors.New("nobody was asked to present")
		}
	case Consulted:
		return m.checkConsulted(ev)
	case Opened, Woke, Interrupted, BudgetSpent:
	default:
		return errors.New("the kernel has no such event")
	}
	return nil
}

// checkAct refuses an act on another set than the step's own or a newer one that an Update
// has given it (rule 8).
func (m *Machine) checkAct(agent, seen int) error {
	if err := m.checkPhase(agent, Busy, Late); err != nil {
		return err
	}
	x := m.s.Members[agent]
	newest := x.Seen
	if m.getsUpdates(x) {
		newest = m.set()
	}
	if seen < x.Seen || seen > newest {
		return fmt.Errorf("agent %d has not been shown set %d", agent, seen)
	}
	return nil
}

func (m *Machine) checkVote(ev Voted) error {
	if err := m.checkAct(ev.Agent, ev.Seen); err != nil {
		return err
	}
	if !m.stoodIn(ev.For, ev.Seen) {
		return fmt.Errorf("a vote for agent %d, which has no answer in set %d", ev.For, ev.Seen)
	}
	if ev.For == ev.Agent && !m.cfg.SelfVote {
		return fmt.Errorf("agent %d was not offered a vote for itself", ev.Agent)
	}
	if counts := ev.Seen == m.set() && m.s.Members[ev.Agent].Phase == Busy; !counts {
		return nil // whatever the vote names
	}
	votable := m.votableBy(ev.Agent, m.s.Members[ev.Agent].Round)
	for _, agent := range append([]int{ev.For}, ev.Others...) {
		if !slices.Contains(votable, agent) {
			return fmt.Errorf("agent %d was not offered a vote for agent %d", ev.Agent, agent)
		}
	}
	return nil
}

func (m *Machine) checkPhase(agent int, phases ...Phase) error {
	if agent < 0 || agent >= len(m.s.Members) {
		return fmt.Errorf("there is no agent %d", agent)
	}
	if p := m.s.Members[agent].Phase; !slices.Contains(phases, p) {
		return fmt.Errorf("agent %d is %s", agent, p)
	}
	return nil
}

func (m *Machine) stoodIn(agent, set int) bool {
	if agent < 0 || agent >= len(m.s.Members) {
		return false
	}
	newest := m.standing(agent)
	if set < m.s.FormerAnswers {
		return false
	}
	return newest >= 0 && (newest < set || slices.ContainsFunc(m.s.Answers[m.s.FormerAnswers:set], func(a Answer) bool { return a.Agent == agent }))
}

// take books the event. advance draws the consequences.
func (m *Machine) take(ev Event) {
	if m.Over() {
		return
	}
	switch ev := ev.(type) {
	case Opened:
		m.s.Stage = stageRunning
		if m.cfg.TurnLimit > 0 {
			m.s.TurnAt = m.after(m.cfg.TurnLimit)
		}
	case Answered:
		m.applyAnswer(ev)
	case Voted:
		m.applyVote(ev)
	case Abstained:
		m.endStep(ev.Agent, ActAbstained, ev.Reason)
		m.change(ev.Agent, func(x *member) { x.Seen = ev.Seen })
	case OutOfTurns:
		m.applyOutOfTurns(ev)
	case Failed:
		m.endStep(ev.Agent, ActFailed, ev.Reason)
	case Stopped:
		m.applyStopped(ev.Agent)
	case Dismissed:
		m.applyDismissed(ev.Agent)
	case Presented:
		m.applyPresented(ev)
	case Consulted:
		m.applyConsulted(ev)
	case Woke:
		m.s.WakeAt = 0 // if it came too early, it is requested again
	case Interrupted:
		m.endEarly(Cut)
	case BudgetSpent:
		m.endEarly(Budget)
	}
}

// advance draws the consequences until there are none.
func (m *Machine) advance() {
	for {
		for m.s.Stage == stageRunning && m.step() {
		}
		if m.s.Stage != stagePresenting {
			return
		}
		if m.present(); m.s.Stage != stageRunning { // it is, if the turn starts over
			return
		}
	}
}

// step takes one decision, and reports whether another may follow.
func (m *Machine) step() bool {
	switch {
	case m.s.Consulting != nil:
		return false
	case m.s.Tie != nil:
		return m.breakTie()
	case m.loneSurvivor(), m.nobodyLeft(), m.decideEarly():
		return m.s.Tie != nil
	case m.cfg.Pace == PaceEager:
		return m.stepEager()
	default:
		return m.stepRounds()
	}
}

// endStep makes an agent idle and records the end of its step.
func (m *Machine) endStep(agent int, act Act, reason string) {
	m.change(agent, func(x *member) {
		if x.Phase == Late && act != ActFailed {
			act = ActLate
		}
		x.Phase, x.Act, x.Reason = Idle, act, reason
		x.Failed = act == ActFailed
		x.RestrictAt, x.CancelAt = 0, 0
		if x.Since != 0 {
			x.Took = m.s.Now - x.Since
		}
	})
}
