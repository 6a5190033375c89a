package step

import (
	"cmp"

	"github.com/massgen/massgen/internal/coordination/effect"
)

// endConsultation ends a consultation with an opinion (rule 17). A reply that is none is refused
// once.
func (s *Machine) endConsultation(r effect.ModelReply) []effect.Effect {
	if r.Opinion != nil {
		return s.end(Outcome{Kind: Consulted, Opinion: r.Opinion})
	}
	problem := cmp.Or(r.Problem, r.BlankReason())
	if s.s.Repaired || s.isLastCall() {
		return s.end(Outcome{Kind: Failed, Reason: "two replies did not fit: " + problem})
	}
	s.s.Repaired = true
	s.s.Transcript = append(s.s.Transcript, effect.Entry{Kind: effect.Assistant, Text: r.Message})
	for _, c := range r.Calls { // a service refuses calls without results
		s.s.Transcript = append(s.s.Transcript, effect.Entry{
			Kind: effect.Result, CallID: c.ID, Name: c.Name, Notice: &effect.Notice{Code: effect.ToolsWithdrawn, Detail: c.Name},
		})
	}
	s.s.Transcript = append(s.s.Transcript, effect.Entry{
		Kind: effect.Reminder, Notice: &effect.Notice{Code: effect.BadOpinion, Detail: problem}, Notes: s.s.Notes,
	})
	s.s.Notes = nil
	return []effect.Effect{s.callModel()}
}
