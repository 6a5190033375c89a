package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/system/blob"
)

// Purpose is the purpose of a consultation (rule 17).
type Purpose string

// The purposes. A judgement names the best answer, with an analysis. An analysis follows an
// election. A tie names the best of the answers that an election, or a judge that was asked in both
// orders, leaves tied. A verdict says whether the answers of a stage say the same.
const (
	Judgement Purpose = "judgement"
	TieBreak  Purpose = "tie"
	Analysis  Purpose = "analysis"
	Verdict   Purpose = "verdict"
	// Review asks the winner whether the final answer will do (rule 21).
	Review Purpose = "review"
)

// consultation is a consultation under way.
type consultation struct {
	Purpose Purpose `json:"purpose"`
	Agent   int     `json:"agent"`
	// Set is the set of answers that it is about.
	Set int `json:"set,omitempty"`
	// LimitAt is its time limit; 0 means no limit.
	LimitAt Time `json:"limit_at,omitempty"`
	// Ended is why its call was cancelled, empty while it may succeed.
	Ended string `json:"ended,omitempty"`
}

// consult is rule 17: it asks a consultant, and reports whether a consultation is under way. One
// by an agent that is out fails at once.
func (m *Machine) consult(p Purpose) bool {
	agent := m.consultant(p)
	if m.isOut(agent) {
		m.concludeConsultation(p, Consulted{Reason: fmt.Sprintf("%s is out: %s", m.name(agent), m.outReason(agent))})
		return false
	}
	m.s.Consulting = &consultation{Purpose: p, Agent: agent, Set: m.set()}
	if m.cfg.ConsultationLimit > 0 {
		m.s.Consulting.LimitAt = m.after(m.cfg.ConsultationLimit)
	}
	m.emit(Consult{Agent: agent, Round: m.s.Round, Purpose: p, Offer: m.consultOffer(p)})
	return true
}

// consultOffer returns the answers that a consultation is about.
func (m *Machine) consultOffer(p Purpose) Offer {
	offer := Offer{Set: m.set(), Shown: m.current(), MayVote: []int{}, Reversed: p == Judgement && len(m.s.Picks) > 0}
	if p == Review {
		offer.Shown = []Answer{m.finalAnswer()}
	}
	if p == TieBreak {
		offer.Shown = []Answer{}
		for _, agent := range m.s.Tie.Among {
			offer.Shown = append(offer.Shown, m.s.Answers[m.standing(agent)])
		}
	}
	return offer
}

// endConsultation cancels the consultation under way, which fails when its call has returned.
func (m *Machine) endConsultation(why string) {
	m.s.Consulting.Ended = why
	m.emit(Cancel{Agent: m.s.Consulting.Agent})
}

// callOff cancels the consultation under way, if there is one, and waits for nothing.
func (m *Machine) callOff() {
	if m.s.Consulting != nil && m.s.Consulting.Ended == "" {
		m.emit(Cancel{Agent: m.s.Consulting.Agent})
	}
	m.s.Consulting = nil
}

func (m *Machine) checkConsulted(ev Consulted) error {
	switch c := m.s.Consulting; {
	case c == nil:
		return errors.New("nobody is consulted")
	case ev.Reason != "" || c.Ended != "":
	case c.Purpose == Judgement && !slices.Contains(m.votable(), ev.Best):
		return fmt.Errorf("the best answer is that of agent %d, which has none", ev.Best)
	case c.Purpose == TieBreak && !slices.Contains(m.s.Tie.Among, ev.Best):
		return fmt.Errorf("the best answer is that of agent %d, which is not tied", ev.Best)
	}
	return nil
}

// applyConsulted is rule 17. What a cancelled call returns does not count.
func (m *Machine) applyConsulted(ev Consulted) {
	c := *m.s.Consulting
	m.s.Consulting = nil
	if c.Ended != "" {
		ev = Consulted{Reason: c.Ended}
	}
	if c.Purpose == Verdict && ev.Reason == "" && ev.Same && c.Set != m.set() {
		return // a late answer has come meanwhile: the stage is compared again
	}
	m.concludeConsultation(c.Purpose, ev)
}

// concludeConsultation draws the consequence of a consultation. One that failed costs a warning.
func (m *Machine) concludeConsultation(p Purpose, ev Consulted) {
	failed := ev.Reason != ""
	switch p {
	case Judgement:
		if m.s.Unjudged = failed; failed {
			m.warn("the judgement came to nothing (%s): the agents vote on the answers", ev.Reason)
			m.s.Picks = nil
			return
		}
		m.pick(pick{ev.Best, ev.Analysis})
	case TieBreak:
		best := m.s.Tie.Among[0]
		if failed {
			m.warn("nobody broke the tie (%s): the config's order does", ev.Reason)
		} else {
			best = ev.Best
		}
		m.settleTie(best)
	case Analysis:
		if m.s.Unjudged = failed; failed {
			m.warn("the analysis came to nothing (%s): it is left out", ev.Reason)
			return
		}
		m.s.Analysis = ev.Analysis
	case Review:
		m.concludeReview(ev)
	case Verdict:
		if failed {
			m.warn("the verdict came to nothing (%s), and counts as disagreement", ev.Reason)
		}
		if !failed && ev.Same {
			m.elect(Completed, m.standing(m.current()[0].Agent))
			return
		}
		m.s.Differing = m.s.StagesBegun
	}
}

// isAnalysisDue is rule 17: an elected answer is analysed beside the others, once.
func (m *Machine) isAnalysisDue() bool {
	return m.cfg.Analysis && !m.s.Unjudged && m.s.Analysis == (blob.Ref{}) && m.countCandidates() > 1
}
