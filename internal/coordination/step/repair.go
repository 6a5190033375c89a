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
