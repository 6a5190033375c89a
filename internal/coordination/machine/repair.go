package machine

// repairAnswer asks once more for an answer that the turn's schema takes, without tools, so that
// a service that can may enforce it (rule 14).
func (s *Step) repairAnswer(r ModelReply) []Effect {
	s.s.Transcript = append(s.s.Transcript, Entry{Kind: Assistant, Text: r.Message})
	if s.s.Repaired || s.isLastCall() {
		return s.end(Outcome{Kind: Failed, Reason: "its answer was refused: " + r.Problem})
	}
	s.s.Repaired, s.s.Restricted = true, true
	s.tell()
	s.s.Transcript[len(s.s.Transcript)-1].Notice = &Notice{Code: BadAnswer, Detail: r.Problem}
	return []Effect{s.next()}
}
