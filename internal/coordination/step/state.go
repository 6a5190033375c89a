package step

// State is the state of an agent's step, in the words of seed 000.
type State string

// The states of a step. An agent whose step has ended is completed or in error until its next
// step begins.
const (
	Idle         State = "idle" // no step has begun
	AwaitingLLM  State = "awaiting_llm"
	AwaitingTool State = "awaiting_tool" // also a person's decision, or a snapshot
	Completed    State = "completed"
	Error        State = "error"
)

// State returns the state in which the step waits.
func (s *Machine) State() State {
	switch {
	case s.s.Outcome.Kind != "":
		return s.s.Outcome.Kind.State()
	case s.s.Waiting:
		return AwaitingLLM
	}
	return AwaitingTool
}

// State returns the state of a step with that outcome.
func (k OutcomeKind) State() State {
	if k == Failed {
		return Error
	}
	return Completed
}
