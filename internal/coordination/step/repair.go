package step

import "github.com/massgen/massgen/internal/coordination/effect"

// repairAnswer asks once more for an answer that fits the turn's schema (rule 14). It offers no
// tools, so that a capable service can enforce the schema.
func (s *Machine) repairAnswer(r effect.ModelReply) []effect.Effect {
	s.s.Transcript = append(s.s.Transcript, effect.Entry{Kind: effect.Assistant, Text: r.Message})
	if s.s.Repaired || s.isLastCall() {
		return s.end(Outcome{Kind: Failed, Reason: "its answer was refused: " + r.Problem})
	}
	s.s.Repaired, s.s.Restricted = true, true
	s.tell()
	s.s.Transcript[s.lastSaid()].Notice = &effect.Notice{Code: effect.BadAnswer, Detail: r.Problem}
	return []effect.Effect{s.next()}
}

// refuseMarkup asks again for an answer after a text with the markup of a call that does not count.
func (s *Machine) refuseMarkup(r effect.ModelReply) []effect.Effect {
	s.s.Transcript = append(s.s.Transcript, effect.Entry{Kind: effect.Assistant, Text: r.Message})
	s.s.Attempts++
	if s.s.Attempts >= s.s.Task.Limits.MaxAttempts || s.isLastCall() {
		return s.end(Outcome{Kind: Failed, Reason: "its reply was the text of a tool call, which cannot be read as one"})
	}
	s.tell()
	s.s.Transcript[len(s.s.Transcript)-1].Notice = &effect.Notice{Code: effect.CallInText}
	return []effect.Effect{s.next()}
}
