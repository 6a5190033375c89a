package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/system/blob"
)

// Status is the way a turn ended, in the word of its result.
type Status = string

// The statuses of a result (DESIGN §8).
const (
	Completed   Status = "completed"
	NoConsensus Status = "no_consensus"
	Timeout     Status = "timeout"
	Budget      Status = "budget"
	MaxTurns    Status = "max_turns"
	Cut         Status = "interrupted"
	AllFailed   Status = "failed"
)

// Statuses returns all statuses of results.
func Statuses() []Status {
	return []Status{Completed, NoConsensus, Timeout, Budget, MaxTurns, Cut, AllFailed}
}

// candidates is rule 4: equal texts are one candidate, represented by the first agent in
// the config's order. It returns the candidate of each agent's answer, -1 without an
// answer.
func (m *Machine) candidates() []int {
	ix := m.ix()
	if ix.candidates != nil {
		return ix.candidates
	}
	ix.candidates = slices.Repeat([]int{-1}, len(m.s.Members))
	first := map[string]int{}
	for _, a := range m.current() {
		value := m.valueOf(a)
		if _, ok := first[value]; !ok || value == "" && m.cfg.Values {
			first[value] = a.Agent
		}
		ix.candidates[a.Agent] = first[value]
	}
	return ix.candidates
}

// valueOf returns what equal answers have in common: the hash of the value or of the text.
func (m *Machine) valueOf(a Answer) string {
	if m.cfg.Values {
		return a.Value
	}
	return a.Hash
}

// loneSurvivor is rule 5: one live agent is left and only its own answer stands.
func (m *Machine) loneSurvivor() bool {
	if m.ix().live != 1 {
		return false
	}
	live, shown := slices.IndexFunc(m.s.Members, func(x member) bool { return !x.Failed }), m.current()
	if len(shown) != 1 || shown[0].Agent != live {
		return false
	}
	m.elect(Completed, m.standing(live))
	return true
}

// nobodyLeft is rule 5: with no agent left, the standing answers and votes decide.
func (m *Machine) nobodyLeft() bool {
	if m.ix().live > 0 {
		return false
	}
	m.electByVotes()
	return true
}

// endEarly is rule 6: at the turn's time limit, its budget's end or a person's
// word the best so far is the result: most valid votes, else the newest answer.
// During a presentation the winner is known already (rule 9).
func (m *Machine) endEarly(status Status) {
	if m.s.Stage == stagePresenting {
		switch {
		case m.s.Consulting != nil:
			m.warn("the %s was ended (%s): the winning answer stands as it was", m.s.Consulting.Purpose, status)
		case !m.s.Final:
			m.warn("the presentation was ended (%s): the winning answer stands as it was", status)
		}
		m.finish()
		return
	}
	best := m.newest()
	if out := election.Elect(m.count()); out.Winner >= 0 {
		best = m.standing(out.Winner)
	}
	m.elect(status, best)
}

// elect ends the coordination with answers[winner], or with none (-1). Late
// calls, and those that can no longer matter, are cancelled. A panel of one has
// nothing to present: its text is the answer (rule 1).
func (m *Machine) elect(status Status, winner int) {
	voted := status == Completed || status == NoConsensus
	if winner < 0 && m.hasFormer() {
		m.fallBack(status)
		return
	}
	if voted && winner < 0 {
		status = AllFailed
	}
	if status == Completed && m.cfg.Check == CheckRequired && m.s.Answers[winner].FailedCheck {
		status = NoConsensus // no answer has passed
	}
	m.s.Status, m.s.Winner = status, winner
	m.s.RoundOpen, m.s.GraceAt = false, 0
	for agent := range m.s.Members {
		m.cutOff(agent, status)
	}
	m.s.Stage = stagePresenting
	if winner < 0 || !voted || len(m.cfg.Agents) == 1 || !m.isAnalysisDue() && !m.isPresented() && !m.isReviewDue() {
		m.finish()
	}
}

// isPresented is rule 9: it reports whether a step writes the final answer. A judge writes only
// after its own judgement.
func (m *Machine) isPresented() bool {
	return m.cfg.Final != WinnerReuse && (m.cfg.Final != SynthesizeByJudge || m.s.Judged)
}

// presenter returns the agent that writes the final answer: the winner, or the judge.
func (m *Machine) presenter() int {
	if m.cfg.Final == SynthesizeByJudge {
		return m.consultant(Judgement)
	}
	return m.s.Answers[m.s.Winner].Agent
}

// cutOff records the act of an agent whose call is still out: late or cancelled. It gives
// a reason if the others had to do without the agent. A call that could no longer matter,
// or that a person ended, needs no reason.
func (m *Machine) cutOff(agent int, status Status) {
	act, reason := ActCancelled, ""
	phase := m.s.Members[agent].Phase
	switch {
	case phase == Idle && m.s.Members[agent].Round == 0 && !m.s.Members[agent].Failed:
		m.change(agent, func(x *member) { x.Act = ActNotAsked })
		return
	case phase == Idle || m.s.Members[agent].Act == ActLate || m.s.Members[agent].Act == ActDismissed: // its call was cancelled then
		return
	case phase == Late:
		act, reason = ActLate, "its call had not come back when the turn was decided"
	case phase == Stopping:
		reason = "it did not act within the round's time limit"
	case status == Timeout:
		reason = "its call had not come back when the turn was ended"
	case status == Budget:
		reason = "the budget left too little for its next call"
	}
	m.change(agent, func(x *member) { x.Act, x.Reason = act, cmp.Or(reason, x.Reason) })
	if phase != Stopping {
		m.cancel(agent)
	}
}

// present is rules 9 and 17: the judge analyses the answers, if that is due, and the presenter is
// called once more, after its cancelled call has returned. A presenter that has failed cannot
// present.
func (m *Machine) present() {
	switch {
	case m.s.Presenting || m.s.Consulting != nil:
		return
	case m.s.Final:
		m.review()
		return
	case m.isAnalysisDue():
		if m.awaitsConsultant(Analysis) || m.consult(Analysis) {
			return
		}
	}
	if !m.isPresented() {
		m.review()
		return
	}
	agent := m.presenter()
	switch {
	case m.isOut(agent):
		m.warn("%s won and is out: its answer stands as it was", m.name(agent))
		m.review()
	case m.isReturning(agent):
	default:
		m.s.Presenting = true
		p := Present{
			Agent: agent, Round: m.s.Round, Votes: m.valid(), Synthesize: m.cfg.Final != WinnerPresent,
			Offer: Offer{Set: m.set(), Shown: m.current(), MayVote: []int{}},
		}
		if m.cfg.Final == SynthesizeByJudge {
			p.Votes, p.Analysis = nil, m.s.Analysis
		}
		m.emit(p)
	}
}

func (m *Machine) valid() []Vote {
	return slices.DeleteFunc(slices.Clone(m.s.Votes), func(v Vote) bool { return v.Void != "" })
}

// applyPresented is rule 9: without a presentation the winning answer stays unchanged,
// with a warning.
func (m *Machine) applyPresented(ev Presented) {
	if ev.Answer == (blob.Ref{}) {
		m.warn("the presentation came to nothing (%s): the winning answer stands as it was", ev.Reason)
	}
	m.s.Presenting = false
	m.s.Presented, m.s.PresentedWork = ev.Answer, ev.Work
	if m.cfg.Final == SynthesizeByJudge { // the files are the winner's
		m.s.PresentedWork = m.s.Answers[m.s.Winner].Work
	}
	if m.s.Final = m.isReviewDue(); !m.s.Final { // else present goes on with the review
		m.finish()
	}
}

// finish ends the turn.
func (m *Machine) finish() {
	if m.s.Presenting {
		m.emit(Cancel{Agent: m.presenter()})
	}
	m.callOff()
	m.s.Stage = stageOver
	m.emit(Finish{})
}

func (m *Machine) warn(format string, args ...any) {
	m.s.Warnings = append(m.s.Warnings, fmt.Sprintf(format, args...))
}
