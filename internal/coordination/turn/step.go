package turn

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/blob"
)

// reply feeds the result of an effect to the step that waits for it.
func (m *Machine) reply(at kernel.Time, agent int, r effect.Reply) error {
	effects, err := m.s.Steps[agent].Step.Apply(r)
	if err != nil {
		return err
	}
	return m.stepped(at, agent, effects)
}

// stepped runs the effects of a step that has changed, and feeds its end to the kernel.
func (m *Machine) stepped(at kernel.Time, agent int, effects []effect.Effect) error {
	s := m.s.Steps[agent]
	m.recordJSON(agent, s)
	m.recordRefusals(at, s.Step.NewRefusals())
	m.run(at, effects)
	m.requestPermissions(s.Step.NewPermissionRequests())
	outcome := s.Step.Outcome()
	if outcome.Kind == "" {
		return nil
	}
	m.s.Steps[agent] = nil
	if s.Purpose.IsConsultation() {
		m.consulted(agent, s.Purpose).Calls += s.Step.Calls()
	} else {
		m.carryStep(agent, s.Step.Transcript())
	}
	m.recordUnkept(agent, s.Purpose, outcome)
	told := len(m.out)
	m.out = append(m.out, StepEnded{})
	ev := kernelEvent(at, agent, s.Purpose, outcome)
	if vote, isVote := ev.(kernel.Voted); isVote && m.s.Turn.Shuffle != nil {
		for _, a := range m.s.Turn.InOrder(agent, s.Round, s.Step.Offer()) {
			vote.Saw = append(vote.Saw, m.s.Kernel.Label(a))
		}
		ev = vote
	}
	if err := m.decide(ev); err != nil {
		return err
	}
	m.out[told] = m.ended(at, agent, s, outcome)
	return nil
}

// recordJSON records that a step has gone over to JSON, for the agent's later steps, and
// reports it once.
func (m *Machine) recordJSON(agent int, s *openStep) {
	if s.Step.JSON() && m.s.Turn.Agent(agent).ToolMode == effect.ToolsAuto && !slices.Contains(m.s.JSON, agent) {
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
	return m.refuse(ev.When())
}

func (m *Machine) carry(cause kernel.Event, c kernel.Command) error {
	switch c := c.(type) {
	case kernel.Start:
		purpose := effect.Coordination
		if m.s.Turn.IsAlone() {
			purpose = effect.Conversation
		}
		m.begin(cause.When(), step.Task{Agent: c.Agent, Round: c.Round, Purpose: purpose, Offer: c.Offer})
	case kernel.Present:
		purpose := effect.Presentation
		if c.Synthesize {
			purpose = effect.Synthesis
		}
		task := step.Task{
			Agent: c.Agent, Round: c.Round, Purpose: purpose, Offer: c.Offer, Votes: c.Votes, Analysis: c.Analysis,
		}
		if winner := m.s.Kernel.Result().Winner; m.s.Turn.Check != nil {
			task.Work = winner.Work
		}
		m.begin(cause.When(), task)
	case kernel.Consult:
		purpose := effect.Purpose(c.Purpose)
		m.begin(cause.When(), step.Task{
			Agent: c.Agent, Round: c.Round, Purpose: purpose, Offer: c.Offer, First: m.consulted(c.Agent, purpose).Calls,
		})
	case kernel.Update:
		return m.s.Steps[c.Agent].Step.Obey(c)
	case kernel.Restrict:
		return m.s.Steps[c.Agent].Step.Obey(c)
	case kernel.Cancel:
		m.out = append(m.out, c)
		m.withdraw(c.Agent)
		return m.s.Steps[c.Agent].Step.Obey(c)
	case kernel.Wake, kernel.Finish:
		m.out = append(m.out, c)
	}
	return nil
}

func (m *Machine) begin(at kernel.Time, task step.Task) {
	agent := m.s.Turn.Agent(task.Agent)
	task.Limits, task.Notes = m.s.Turn.Limits, m.notesSoFar()
	if !task.Purpose.IsConsultation() {
		task.Check = m.s.Turn.Check
	}
	isJudge := task.Purpose.IsConsultation() || task.Analysis != (blob.Ref{})
	if !isJudge {
		task.Carried = m.Carried(task.Agent)
		task.JSON = agent.ToolMode == effect.ToolsJSON || slices.Contains(m.s.JSON, task.Agent)
		task.MayUseJSON = agent.ToolMode == effect.ToolsAuto
		task.Snapshot = agent.Workspace
		if limits := agent.Step; limits != nil && limits.SummaryWords > 0 {
			task.Context = limits
		}
	}
	s, effects := step.Begin(task)
	m.s.Steps[task.Agent] = &openStep{Step: s, Round: task.Round, Purpose: task.Purpose, Started: at}
	m.out = append(m.out, StepStarted{Agent: task.Agent, Round: task.Round, Purpose: task.Purpose})
	m.run(at, effects)
}

// consulted returns the count of the calls of an agent's consultations.
func (m *Machine) consulted(agent int, purpose effect.Purpose) *consultedCalls {
	i := slices.IndexFunc(m.s.Consulted, func(c consultedCalls) bool { return c.Agent == agent && c.Purpose == purpose })
	if i < 0 {
		i = len(m.s.Consulted)
		m.s.Consulted = append(m.s.Consulted, consultedCalls{Agent: agent, Purpose: purpose})
	}
	return &m.s.Consulted[i]
}

// kernelEvent returns the meaning of a step's end to the kernel.
func kernelEvent(at kernel.Time, agent int, purpose effect.Purpose, o step.Outcome) kernel.Event {
	if purpose.IsFinalAnswer() {
		return kernel.Presented{At: at, Answer: o.Answer, Work: o.Work, Reason: o.Reason}
	}
	if purpose.IsConsultation() {
		ended := kernel.Consulted{At: at, Reason: o.Reason}
		if o.Opinion != nil {
			ended.Best, ended.Same, ended.Analysis = o.Opinion.Best, o.Opinion.Same, o.Opinion.Analysis
		}
		return ended
	}
	switch o.Kind {
	case step.Answered:
		return kernel.Answered{At: at, Agent: agent, Seen: o.Seen, Answer: o.Answer, Hash: o.Hash, Value: o.Value, Work: o.Work, FailedCheck: o.FailedCheck, Check: o.Check}
	case step.Voted:
		return kernel.Voted{At: at, Agent: agent, Seen: o.Seen, For: o.For, Others: o.Others, Reason: o.Reason}
	case step.Abstained:
		return kernel.Abstained{At: at, Agent: agent, Seen: o.Seen, Reason: o.Reason}
	case step.OutOfTurns:
		return kernel.OutOfTurns{
			At: at, Agent: agent, Seen: o.Seen, Answer: o.Answer, Hash: o.Hash, Work: o.Work, Reason: o.Reason,
			FailedCheck: o.FailedCheck, Check: o.Check,
		}
	case step.Stopped:
		return kernel.Stopped{At: at, Agent: agent}
	default:
		return kernel.Failed{At: at, Agent: agent, Reason: o.Reason}
	}
}

// ended reports a step's end as the kernel has booked it.
func (m *Machine) ended(at kernel.Time, agent int, s *openStep, o step.Outcome) StepEnded {
	told := StepEnded{
		Agent: agent, Round: s.Round, Purpose: s.Purpose, Outcome: o,
		Elapsed: at - s.Started, Usage: s.Usage, ToolCalls: s.Step.ToolCalls(), Transcript: s.Step.Transcript(),
		Partial: s.Partial,
	}
	switch {
	case s.Purpose.IsFinalAnswer(): // it has no label, and nothing can make it void
	case o.Opinion != nil && s.Purpose != effect.Verdict && s.Purpose != effect.Review:
		told.Label = m.labelOf(o.Opinion.Best)
	case o.Answer != (blob.Ref{}):
		told.Label, told.Void = m.s.Kernel.LastAnswer(agent, o.Answer)
	case o.Kind == step.Voted:
		told.Label, told.Void = m.s.Kernel.LastVote(agent)
	}
	return told
}

// labelOf returns the label of an agent's standing answer.
func (m *Machine) labelOf(agent int) string {
	for _, a := range m.s.Kernel.Result().Answers {
		if a.Agent == agent {
			return m.s.Kernel.Label(a)
		}
	}
	return ""
}
