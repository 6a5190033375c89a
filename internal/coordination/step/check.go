package step

import (
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// check is rule 20: it ends the step, after the check of an answer.
func (s *Machine) check(o Outcome) []effect.Effect {
	if o.Answer == (blob.Ref{}) || s.s.Task.Check == nil {
		return s.end(o)
	}
	s.s.Answer, s.s.Checking = &o, true
	work := o.Work
	if work == (blob.Ref{}) {
		work = s.s.Task.Work
	}
	return []effect.Effect{effect.ToolCall{Key: s.checkKey(), Answer: o.Answer, Work: work}}
}

func (s *Machine) checkKey() effect.Key {
	return s.key(effect.Checking, effect.FinalChecking, s.s.Checked)
}

// applyCheck takes the result of a check. An answer that failed goes back to its author, until its
// tries or the calls of the step are used up. Then it is accepted as failed; a final answer is not.
func (s *Machine) applyCheck(r effect.ToolReply) ([]effect.Effect, error) {
	if r.Index != s.checkKey().Index {
		return nil, fmt.Errorf("step: no tool call %d is out", r.Index)
	}
	o := *s.s.Answer
	s.s.Answer, s.s.Checking = nil, false
	if s.s.Cancelled {
		return s.end(Outcome{Kind: Stopped, Reason: "cancelled"}), nil
	}
	o.Check, o.FailedCheck = r.Result, r.Error
	isFinal := s.s.Task.Purpose.IsFinalAnswer()
	switch {
	case !o.FailedCheck:
		return s.end(o), nil
	case s.s.Checked+1 < s.s.Task.Check.Tries && s.mayRetry(o):
		return s.returnAnswer(r.Result), nil
	case isFinal:
		return s.end(Outcome{Kind: Failed, Reason: "it failed the check", Check: o.Check, FailedCheck: true}), nil
	}
	return s.end(o), nil
}

// mayRetry reports whether the author of an answer may give another in this step.
func (s *Machine) mayRetry(o Outcome) bool {
	return o.Kind == Answered && !s.isLastCall() && s.s.Attempts < s.s.Task.Limits.MaxAttempts
}

// returnAnswer makes the output of a failed check the result of the call that gave the answer, or the
// reply to it.
func (s *Machine) returnAnswer(output blob.Ref) []effect.Effect {
	s.s.Checked++
	s.s.Act = nil
	s.s.Transcript = slices.Clone(s.s.Transcript) // the call that is over keeps its entries
	notice := &effect.Notice{Code: effect.FailedCheck, Output: output}
	for i := len(s.s.Transcript) - 1; i >= 0 && s.s.Transcript[i].Kind == effect.Result; i-- {
		if e := &s.s.Transcript[i]; e.Name == effect.NewAnswer && e.Notice == nil {
			e.Notice = notice
		}
	}
	s.tell()
	if last := &s.s.Transcript[s.lastSaid()]; last.Kind == effect.Reminder {
		last.Notice = notice
	}
	return []effect.Effect{s.next()}
}
