package kernel

import (
	"slices"

	"github.com/massgen/massgen/internal/system/blob"
)

// Former is an attempt whose winner had the turn start over (rule 21); its zero value is none.
type Former struct {
	// Review is the text of the winner's review: why, and what to do better.
	Review blob.Ref `json:"review"`
	// Text and Work are the attempt's final answer, and Winner the place of the winning one.
	Text   blob.Ref `json:"text"`
	Work   blob.Ref `json:"work,omitzero"`
	Winner int      `json:"winner"`
}

// hasFormer reports whether this attempt is not the first.
func (m *Machine) hasFormer() bool { return m.s.Restarts > 0 }

// isFirst reports whether a round is the first of its attempt, in which agents answer blind.
func (m *Machine) isFirst(round int) bool { return round == m.s.FormerRounds+1 }

// isReviewDue is rule 21: a winner by votes reviews the final answer while another attempt is left.
func (m *Machine) isReviewDue() bool {
	return m.s.Restarts < m.cfg.MaxRestarts && len(m.cfg.Agents) > 1
}

// finalAnswer returns the winning answer with the text to show.
func (m *Machine) finalAnswer() Answer {
	a := m.s.Answers[m.s.Winner]
	if m.s.Presented != (blob.Ref{}) {
		a.Text = m.s.Presented
	}
	return a
}

// review is rule 21: the winner reviews the final answer, after its cancelled call has returned. Once it has asked
// for another attempt, that begins when all cancelled calls have returned.
func (m *Machine) review() {
	m.s.Final = true
	returning := func(x member) bool { return !x.Failed && x.out() }
	switch {
	case m.s.Restarting && slices.ContainsFunc(m.s.Members, returning):
	case m.s.Restarting:
		m.restart()
	case !m.isReviewDue():
		m.finish()
	case m.isReturning(m.consultant(Review)):
	default:
		m.consult(Review)
	}
}

// concludeReview is rule 21: the answer stands unless the winner asks for another attempt.
func (m *Machine) concludeReview(ev Consulted) {
	switch {
	case ev.Reason != "":
		m.warn("the review came to nothing (%s): the answer stands", ev.Reason)
		m.finish()
	case ev.Same:
		m.finish()
	default:
		r := m.Result()
		m.s.Restarting = true
		m.s.Former = Former{Review: ev.Analysis, Text: r.Text, Work: r.Work, Winner: m.s.Winner}
	}
}

// restart is rule 21: the next attempt starts with no answers.
func (m *Machine) restart() {
	m.s.Restarting = false
	m.s.Restarts++
	m.s.FormerRounds, m.s.FormerAnswers = m.s.Round, m.set()
	m.s.Stage, m.s.Status, m.s.Winner = stageRunning, "", -1
	m.s.Final, m.s.Presented, m.s.PresentedWork = false, blob.Ref{}, blob.Ref{}
	m.s.StagesBegun, m.s.Differing, m.s.Picks, m.s.Electorate = 0, 0, nil, 0
	m.s.Analysis, m.s.Judged, m.s.Unjudged = blob.Ref{}, false, false
	for i := range m.s.Votes {
		if v := &m.s.Votes[i]; v.Void == "" {
			v.Void = voidFormer
		}
	}
	for i, x := range m.s.Members {
		former := x.FormerAnswers + x.Answers
		if x.Failed {
			m.s.Members[i] = member{Phase: x.Phase, Failed: true, Reason: x.Reason, Act: x.Act, FormerAnswers: former}
			continue
		}
		m.s.Members[i] = member{Phase: Idle, FormerAnswers: former}
	}
	m.index = nil
}

const voidFormer = "the turn was started over"

// fallBack ends the coordination of an attempt that has no answer: the answer of the one before is the result.
func (m *Machine) fallBack(status Status) {
	m.warn("this attempt has no answer: the answer of the one before stands")
	m.s.Status, m.s.Winner = status, m.s.Former.Winner
	m.s.RoundOpen, m.s.GraceAt = false, 0
	m.s.Presented, m.s.PresentedWork = m.s.Former.Text, m.s.Former.Work
	for agent := range m.s.Members {
		m.cutOff(agent, status)
	}
	m.finish()
}
