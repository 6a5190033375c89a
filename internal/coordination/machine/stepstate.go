package machine

// StepState is the state of an agent's step, in the words of seed 000.
type StepState string

// The states of a step. An agent whose step has ended is completed or in error until its next
// step begins.
const (
	StepIdle         StepState = "idle" // no step has begun
	StepAwaitingLLM  StepState = "awaiting_llm"
	StepAwaitingTool StepState = "awaiting_tool" // also a person's decision, or a snapshot
	StepCompleted    StepState = "completed"
	StepError        StepState = "error"
)

// State returns the state in which the step waits.
func (s *Step) State() StepState {
	switch {
	case s.s.Outcome.Kind != "":
		return s.s.Outcome.Kind.StepState()
	case s.s.Waiting:
		return StepAwaitingLLM
	}
	return StepAwaitingTool
}

// StepState returns the state of a step with that outcome.
func (k OutcomeKind) StepState() StepState {
	if k == Failed {
		return StepError
	}
	return StepCompleted
}
