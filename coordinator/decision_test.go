package coordinator

import "testing"

// TestPatternAloneDescribesTheDecision: with an answer_pattern equal values are one candidate, so the result says how
// many agree on it.
func TestPatternAloneDescribesTheDecision(t *testing.T) {
	t.Parallel()
	const script = `
rules:
  - {when: {agent: agent1, round: 1}, reply: {new_answer: "I say x=4."}}
  - {when: {agent: agent2, round: 1}, reply: {new_answer: "It is x=4, of course."}}
`
	p, _ := panelOf(t, 2, script, nil, func(o *Options) { o.AnswerPattern = `x=(\d)` })
	r := wait(t, start(t, p, "What is x?"))
	if r.Winner != "agent1" || r.Decision == nil || r.Agreement == nil || *r.Agreement != 1 || r.Decision.Reason() != "all answers agree" {
		t.Errorf("%s has won: %+v", r.Winner, r.Decision)
	}
}
