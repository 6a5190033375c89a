package step

// Phase is the current work of an agent for people. It is finer than State: the pieces of a streamed message
// change it too.
type Phase string

// The phases of an agent. PhaseWaiting to PhaseAskingPerson are work. An agent keeps each
// later phase until its next step.
const (
	PhaseIdle         Phase = "idle"    // no step has begun
	PhaseWaiting      Phase = "waiting" // a model call has told nothing yet, or has not begun
	PhaseThinking     Phase = "thinking"
	PhaseWriting      Phase = "writing"
	PhaseCallingTool  Phase = "calling_tool"
	PhaseAskingPerson Phase = "asking_person" // a person decides whether a tool call may run
	PhaseAnswered     Phase = "answered"
	PhaseVoted        Phase = "voted"
	PhaseAbstained    Phase = "abstained"
	PhaseJudged       Phase = "judged" // a consultation ended
	PhaseLate         Phase = "late"   // an answer that came too late, or a call that outlived the turn
	PhaseCancelled    Phase = "cancelled"
	PhaseDismissed    Phase = "dismissed"
	PhaseFailed       Phase = "failed"
)

// IsBusy reports whether an agent in the phase has a step that has not ended.
func (p Phase) IsBusy() bool {
	switch p {
	case PhaseWaiting, PhaseThinking, PhaseWriting, PhaseCallingTool, PhaseAskingPerson:
		return true
	}
	return false
}
