package turn

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/machine"
	"github.com/massgen/massgen/internal/system/blob"
)

// stepEvent feeds a result to the step that waits for it, and the step's end to
// the kernel.
func (m *Machine) stepEvent(at kernel.Time, agent int, ev machine.Event) error {
	s := m.s.Steps[agent]
	effects, err := s.Step.Apply(ev)
	if err != nil {
		return err
	}
	m.recordJSON(agent, s)
	m.recordRefusals(at, s.Step.NewRefusals())
	m.run(at, effects)
	m.requestPermissions(s.Step.NewPermissionRequests())
	outcome := s.Step.Outcome()
	if outcome.Kind == "" {
		return nil
	}
	m.s.Steps[agent] = nil
	m.recordUnkept(agent, s.Purpose, outcome)
	told := len(m.out)
	m.out = append(m.out, StepEnded{})
	if err := m.decide(kernelEvent(at, agent, s.Purpose, outcome)); err != nil {
		return err
	}
	m.out[told] = m.ended(at, agent, s, outcome)
	return nil
}

// recordJSON records that a step has gone over to JSON, for the agent's later steps, and
// reports it once.
func (m *Machine) recordJSON(agent int, s *step) {
	if s.Step.JSON() && m.s.Turn.Agents[agent].ToolMode == machine.ToolsAuto && !slices.Contains(m.s.JSON, agent) {
		m.s.JSON = append(m.s.JSON, agent)
		m.out = append(m.out, WentToJSON{Agent: agent, Round: s.Round})
	}
}

// decide gives the kernel an event and carries its commands to the steps.
func (m *Machine) decide(ev kernel.Event) error {
	commands, err := m.s.Kernel.Apply(ev)
	if err != nil {
		return err
	}
	for _, c := range commands {
		if err := m.carry(ev, c); err != nil {
			return err
		}
	}
	return m.refuse(kernel.When(ev))
}

func (m *Machine) carry(cause kernel.Event, c kernel.Command) error {
	switch c := c.(type) {
	case kernel.Start:
		purpose := machine.Coordination
		if len(m.s.Steps) == 1 {
			purpose = machine.Conversation
		}
		m.begin(kernel.When(cause), machine.Task{Agent: c.Agent, Round: c.Round, Purpose: purpose, Offer: c.Offer})
	case kernel.Present:
		purpose := machine.Presentation
		if c.Synthesize {
			purpose = machine.Synthesis
		}
		m.begin(kernel.When(cause), machine.Task{
			Agent: c.Agent, Round: c.Round, Purpose: purpose, Offer: c.Offer, Votes: c.Votes,
		})
	case kernel.Update:
		return m.tell(c.Agent, machine.Update{Offer: c.Offer})
	case kernel.Restrict:
		return m.tell(c.Agent, machine.Restrict{})
	case kernel.Cancel:
		m.out = append(m.out, Cancel{c.Agent})
		m.withdraw(c.Agent)
		return m.tell(c.Agent, machine.Cancel{})
	case kernel.Wake:
		m.out = append(m.out, Wake{c.At})
	case kernel.Finish:
		m.out = append(m.out, Finish{})
	}
	return nil
}

func (m *Machine) begin(at kernel.Time, task machine.Task) {
	task.Limits, task.Notes = m.s.Turn.Limits, m.notesSoFar()
	mode := m.s.Turn.Agents[task.Agent].ToolMode
	task.JSON = mode == machine.ToolsJSON || slices.Contains(m.s.JSON, task.Agent)
	task.MayUseJSON = mode == machine.ToolsAuto
	task.Snapshot = m.s.Turn.Agents[task.Agent].Workspace
	if limits := m.s.Turn.Agents[task.Agent].Step; limits != nil && limits.SummaryWords > 0 {
		task.Context = limits
	}
	s, effects := machine.Begin(task)
	m.s.Steps[task.Agent] = &step{Step: s, Round: task.Round, Purpose: task.Purpose, Started: at}
	m.out = append(m.out, StepStarted{Agent: task.Agent, Round: task.Round, Purpose: task.Purpose})
	m.run(at, effects)
}

// tell passes an event of the kernel to a step whose effects are out, which does not answer
// with an effect.
func (m *Machine) tell(agent int, ev machine.Event) error {
	_, err := m.s.Steps[agent].Step.Apply(ev)
	return err
}

// kernelEvent returns the meaning of a step's end to the kernel.
func kernelEvent(at kernel.Time, agent int, purpose machine.Purpose, o machine.Outcome) kernel.Event {
	if purpose.IsFinalAnswer() {
		return kernel.Presented{At: at, Answer: o.Answer, Work: o.Work, Reason: o.Reason}
	}
	switch o.Kind {
	case machine.Answered:
		return kernel.Answered{At: at, Agent: agent, Seen: o.Seen, Answer: o.Answer, Hash: o.Hash, Work: o.Work}
	case machine.Voted:
		return kernel.Voted{At: at, Agent: agent, Seen: o.Seen, For: o.For, Reason: o.Reason}
	case machine.Abstained:
		return kernel.Abstained{At: at, Agent: agent, Seen: o.Seen, Reason: o.Reason}
	case machine.OutOfTurns:
		return kernel.OutOfTurns{At: at, Agent: agent, Seen: o.Seen, Answer: o.Answer, Hash: o.Hash, Work: o.Work, Reason: o.Reason}
	case machine.Stopped:
		return kernel.Stopped{At: at, Agent: agent}
	default:
		return kernel.Failed{At: at, Agent: agent, Reason: o.Reason}
	}
}

// ended reports a step's end as the kernel has booked it.
func (m *Machine) ended(at kernel.Time, agent int, s *step, o machine.Outcome) StepEnded {
	told := StepEnded{
		Agent: agent, Round: s.Round, Purpose: s.Purpose, Outcome: o,
		Elapsed: at - s.Started, Usage: s.Usage, ToolCalls: s.Step.ToolCalls(), Transcript: s.Step.Transcript(),
		Partial: s.Partial,
	}
	switch {
	case s.Purpose.IsFinalAnswer(): // it has no label, and nothing can make it void
	case o.Answer != (blob.Ref{}):
		told.Label, told.Void = m.s.Kernel.LastAnswer(agent, o.Answer)
	case o.Kind == machine.Voted:
		told.Label, told.Void = m.s.Kernel.LastVote(agent)
	}
	return told
}
