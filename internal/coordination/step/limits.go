package step

import (
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// exceeds reports whether one more tool call would be one too many.
func (s *Machine) exceeds() bool {
	limit := s.s.Task.Limits.MaxToolCalls
	return limit > 0 && s.s.Tools >= limit
}

// mayUseTools reports whether the limits let the next model call offer the agent's own tools:
// not in the last of max_turns calls (seed 001), and not when max_tool_calls is used up (seed
// 004).
func (s *Machine) mayUseTools() bool {
	limits := s.s.Task.Limits
	if s.s.Exceeded || limits.EndAtLimits && s.exceeds() {
		return false
	}
	return s.s.Calls < limits.MaxTurns-1
}

// isFinalTurn reports whether the next call tells the model that this is its final turn. That
// call is the last of max_turns, or the first after max_tool_calls was used up.
func (s *Machine) isFinalTurn() bool {
	limits := s.s.Task.Limits
	return s.s.Calls == limits.MaxTurns-1 || limits.EndAtLimits && s.s.OwnTools && s.exceeds()
}

// isLastCall reports whether the step may have no other model call.
func (s *Machine) isLastCall() bool {
	limits := s.s.Task.Limits
	return limits.EndAtLimits && s.s.Calls >= limits.MaxTurns
}

// isOutOfTurns reports whether a message requested tools although a limit had left it none.
func (s *Machine) isOutOfTurns(calls []effect.Call) bool {
	isUsedUp := s.s.Task.Limits.EndAtLimits && !s.s.OwnTools && s.exceeds()
	asks := func(c effect.Call) bool { return s.isConversation() || !c.IsAct() }
	return (s.isLastCall() || isUsedUp) && slices.ContainsFunc(calls, asks)
}

// endOutOfTurns is rule 7: a text beside a tool call is no answer to a panel. A panel of one
// has nothing better to show.
func (s *Machine) endOutOfTurns() []effect.Effect {
	limits := s.s.Task.Limits
	o := Outcome{Kind: OutOfTurns, Reason: fmt.Sprintf("max_turns is %d, and its last model call still asked for tools", limits.MaxTurns)}
	if !s.isLastCall() {
		o.Reason = fmt.Sprintf("max_tool_calls is %d, and it still asked for tools", limits.MaxToolCalls)
	}
	if s.s.Task.Purpose == effect.Conversation {
		o.Answer, o.Hash = s.s.FirstText, s.s.FirstHash
	}
	return s.act(o)
}

// giveUp is rule 7: the first non-empty text becomes the answer of an agent that
// has none; else it abstains, or fails with nothing to show.
func (s *Machine) giveUp() []effect.Effect {
	reason := fmt.Sprintf("%d of its messages neither answered nor voted", s.s.Attempts)
	hasText := s.s.FirstText != (blob.Ref{})
	text := effect.Call{Answer: s.s.FirstText, Hash: s.s.FirstHash, Value: s.s.FirstValue}
	_, refused := s.judgeAnswer(text)
	switch {
	case s.isConversation() && hasText, refused == nil && !s.hasAnswer():
		return s.act(Outcome{Kind: Answered, Answer: text.Answer, Hash: text.Hash, Value: text.Value})
	case s.isConversation(), !s.hasAnswer() && !hasText:
		return s.end(Outcome{Kind: Failed, Reason: reason + ", and there was no text" + s.lastRefusal() + s.lastBlank()})
	}
	return s.end(Outcome{Kind: Abstained, Reason: reason + s.lastRefusal()})
}

// lastBlank returns the end of a reason: what the step's last message was if it had no text and no call.
func (s *Machine) lastBlank() string {
	if s.s.Blank == "" {
		return ""
	}
	return "; the last reply was empty: " + s.s.Blank
}

// lastRefusal returns the end of a reason: the fault in the arguments of the step's last new_answer,
// "" if there was none.
func (s *Machine) lastRefusal() string {
	for _, e := range slices.Backward(s.s.Transcript) {
		if e.Kind == effect.Result && e.Name == effect.NewAnswer {
			if e.Notice != nil && e.Notice.Code == effect.BadArguments {
				return "; its last answer was refused: " + e.Notice.Detail
			}
			return ""
		}
	}
	return ""
}
