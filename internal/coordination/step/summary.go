package step

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
)

// next returns the call with which the step goes on: its model's, or first one for a summary,
// if the model's call would omit more than the call before. A summary is requested once: if
// that fails, the step goes on without it, and the next summary covers its entries too.
func (s *Machine) next() effect.Effect {
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
func (s *Machine) callSummary() effect.Effect {
	s.s.Summarizing, s.s.Waiting = true, true
	s.s.Summaries++
	return effect.ModelCall{
		Key: s.callingKey(), Offer: s.s.Task.Offer, Votes: s.s.Task.Votes, Notes: s.s.Task.Notes,
		Transcript: slices.Clone(s.s.Transcript[:s.s.LeftOut]), Summary: s.s.Summary,
	}
}

// applySummary goes on with the model call that waited for the summary.
func (s *Machine) applySummary(r effect.ModelReply) []effect.Effect {
	s.s.Summarizing = false
	if s.s.Cancelled { // the model was never sent the last entry, nor what that tells
		untold := s.lastSaid()
		s.s.Offer = effect.ModelCall{Offer: s.s.Task.Offer, Transcript: s.s.Transcript[:untold]}.Current()
		return s.end(Outcome{Kind: Stopped, Reason: "cancelled"})
	}
	if r.SummaryFailure() == nil {
		s.s.Summary = &effect.StepSummary{Entries: s.s.LeftOut, Text: r.Text}
	}
	s.applyNews()
	return []effect.Effect{s.callModel()}
}
