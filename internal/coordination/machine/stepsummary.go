package machine

import (
	"errors"
	"slices"

	"github.com/massgen/massgen/internal/system/blob"
)

// The purposes of the calls for a summary of a step's oldest part. As with tools, the final
// answer has its own, since the same agent may have worked earlier in the same round.
const (
	StepSummarizing      Purpose = "step_summary"
	FinalStepSummarizing Purpose = "final_step_summary"
)

// IsStepSummary reports whether a call requests a summary of a step's oldest part.
func (p Purpose) IsStepSummary() bool { return p == StepSummarizing || p == FinalStepSummarizing }

// summaryPurpose returns the purpose of the calls for summaries of a step.
func (p Purpose) summaryPurpose() Purpose {
	if p.IsFinalAnswer() {
		return FinalStepSummarizing
	}
	return StepSummarizing
}

// StepSummarizer is the model that writes the summaries of steps.
type StepSummarizer struct {
	Model string `json:"model"`
	// Params is the JSON of backends.Params.
	Params blob.Ref `json:"params"`
	// Bytes is the room for the text to summarise, 0 if the model's window is unknown.
	Bytes int `json:"bytes,omitempty"`
}

// StepSummary is the text that replaces the oldest entries of a step's transcript.
type StepSummary struct {
	Entries int      `json:"entries"`
	Text    blob.Ref `json:"text"`
}

// next returns the call with which the step goes on: its model's, or first one for a summary,
// if the model's call would omit more than the call before. A summary is requested once: if
// that fails, the step goes on without it, and the next summary covers its entries too.
func (s *Step) next() Effect {
	if limits := s.s.Task.Context; limits != nil {
		left := s.input().LeftOut(limits).Entries
		if left > s.s.LeftOut {
			s.s.LeftOut = left
			return s.callSummary()
		}
	}
	return s.callModel()
}

// callSummary requests a summary of what the next model call omits. It covers the entries of
// the previous summary too.
func (s *Step) callSummary() Effect {
	s.s.Summarizing, s.s.Waiting = true, true
	s.s.Summaries++
	return ModelCall{
		Key: s.callingKey(), Offer: s.s.Task.Offer, Votes: s.s.Task.Votes, Notes: s.s.Task.Notes,
		Transcript: slices.Clone(s.s.Transcript[:s.s.LeftOut]), Summary: s.s.Summary,
	}
}

// applySummary goes on with the model call that waited for the summary.
func (s *Step) applySummary(r ModelReply) []Effect {
	s.s.Summarizing = false
	if s.s.Cancelled { // the model was never sent the last entry, nor what that tells
		untold := len(s.s.Transcript) - 1
		s.s.Offer = ModelCall{Offer: s.s.Task.Offer, Transcript: s.s.Transcript[:untold]}.Current()
		return s.end(Outcome{Kind: Stopped, Reason: "cancelled"})
	}
	if r.SummaryFailure() == nil {
		s.s.Summary = &StepSummary{s.s.LeftOut, r.Text}
	}
	s.applyNews()
	return []Effect{s.callModel()}
}

// SummaryFailure returns the reason why a reply to a call for a summary has none.
func (r ModelReply) SummaryFailure() error {
	switch {
	case r.Failure != nil:
		return errors.New(r.Failure.Message)
	case r.Text == (blob.Ref{}):
		return errors.New("the summary is empty")
	}
	return nil
}
