package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/election"
)

// Decider decides the winner over the first answers (rule 15).
type Decider string

// The deciders. Consensus goes on in rounds. Blind has one round of votes. ByValue counts equal
// values. ByJudge asks a judge.
const (
	Consensus Decider = "consensus"
	Blind     Decider = "blind"
	ByValue   Decider = "majority"
	ByJudge   Decider = "judge"
	// FirstAnswer elects the first answer that stands, in the config's order, without a vote.
	FirstAnswer Decider = "first"
)

// Cascade is the strategy of a turn with stages.
const Cascade = "cascade"

// Agreement says when the answers of a stage agree (rule 16).
type Agreement string

// AgreeByText lets a stage agree only if its answers are equal. AgreeByVerdict also asks whether
// different answers say the same.
const (
	AgreeByText    Agreement = "text"
	AgreeByVerdict Agreement = "verdict"
)

// JudgeID and VerdictID name the consultants outside of the panel. Their indices follow those of
// the panel's agents.
const (
	JudgeID   = "judge"
	VerdictID = "verdict"
)

// Strategy returns the strategy of the turn; empty if the config names none.
func (c Config) Strategy() string {
	if len(c.Stages) > 0 {
		return Cascade
	}
	return string(c.Decider)
}

// lastRound is rule 15: after first answers that are not improved, one round of votes is the last.
func (m *Machine) lastRound() int {
	switch m.cfg.Decider {
	case Blind, ByValue, ByJudge, FirstAnswer:
		return m.s.FormerRounds + 2
	}
	return m.s.FormerRounds + m.cfg.MaxRounds
}

func (c Config) validateStrategy() error {
	switch c.Decider {
	case "", Consensus, Blind, ByValue, ByJudge, FirstAnswer:
	default:
		return fmt.Errorf("strategy %q: it is consensus, blind, majority, judge or cascade", c.Decider)
	}
	staged := len(c.Stages) > 0
	switch {
	case c.Strategy() == "" || c.Strategy() == string(Consensus):
	case len(c.Agents) == 1 && c.Decider != FirstAnswer:
		return fmt.Errorf("strategy %s needs at least two agents", c.Strategy())
	case c.Pace == PaceEager:
		return fmt.Errorf("strategy %s needs pace: rounds", c.Strategy())
	}
	if err := c.validateStages(); err != nil {
		return err
	}
	isAsked := c.Decider == ByJudge || c.Analysis || c.Ties == election.ByJudge || staged && c.Agree == AgreeByVerdict && !c.VerdictByOther
	switch {
	case c.Final == SynthesizeByJudge && c.Decider != ByJudge:
		return errors.New("only a judge that decides can synthesize the answer")
	case c.BothOrders && c.Decider != ByJudge:
		return errors.New("only a judge that decides can be asked in both orders")
	case c.Judge != "" && c.Judge != JudgeID && !slices.Contains(c.Agents, c.Judge):
		return fmt.Errorf("the judge %q is no agent of the panel", c.Judge)
	case isAsked && c.Judge == "":
		return errors.New("a judge is needed, and none is named")
	case c.Judge != "" && slices.Contains(c.Agents, JudgeID):
		return fmt.Errorf("an agent has the id %s, which names the judge", JudgeID)
	case c.VerdictByOther && slices.Contains(c.Agents, VerdictID):
		return fmt.Errorf("an agent has the id %s, which names the giver of verdicts", VerdictID)
	}
	return nil
}

func (c Config) validateStages() error {
	if len(c.Stages) == 0 {
		return nil
	}
	if c.Agree != AgreeByText && c.Agree != AgreeByVerdict {
		return fmt.Errorf("agree %q: it is text or verdict", c.Agree)
	}
	asked := make([]bool, len(c.Agents))
	for i, stage := range c.Stages {
		if len(stage) == 0 || len(stage) == 1 && c.Check == "" {
			return fmt.Errorf("stage %d of the cascade has fewer than two agents, and could never agree", i+1)
		}
		isNew := false
		for _, agent := range stage {
			if agent < 0 || agent >= len(asked) {
				return fmt.Errorf("stage %d of the cascade names an agent that the panel does not have", i+1)
			}
			isNew = isNew || !asked[agent]
			asked[agent] = true
		}
		if !isNew {
			return fmt.Errorf("stage %d of the cascade asks no agent that an earlier stage has not asked", i+1)
		}
	}
	if i := slices.Index(asked, false); i >= 0 {
		return fmt.Errorf("agent %s is in no stage of the cascade", c.Agents[i])
	}
	return nil
}

// decidesFirst reports whether rule 15 or 16 says what follows the first answers.
func (m *Machine) decidesFirst() bool {
	return len(m.cfg.Stages) > 0 || m.cfg.Decider == ByValue || m.cfg.Decider == ByJudge ||
		m.cfg.Decider == FirstAnswer
}

// isBlind is rule 16: agents of a later stage are not shown the answers of an earlier one.
func (m *Machine) isBlind() bool { return len(m.cfg.Stages) > 0 && m.isFirst(m.s.Round) }

// openStage is rule 16: the next stage asks those of its agents that have not been asked.
func (m *Machine) openStage() bool {
	stage := m.cfg.Stages[m.s.StagesBegun]
	m.s.StagesBegun++
	m.s.Round = m.s.FormerRounds + 1
	m.s.RoundOpen, m.s.RoundSet, m.s.GraceAt = true, m.set(), 0
	for agent := range m.s.Members {
		m.change(agent, func(x *member) {
			x.InRound = slices.Contains(stage, agent) && !x.Failed && !x.out() && x.Round == 0
		})
	}
	for agent, x := range m.s.Members {
		if x.InRound {
			m.start(agent, m.s.Round)
		}
	}
	return true
}

// decideFirst is rules 15 and 16: what follows when a stage, or the round of first answers, has
// closed. It waits for a late answer if there is no other.
func (m *Machine) decideFirst() bool {
	standing := m.current()
	switch {
	case m.passedAlone():
		m.elect(Completed, m.standing(m.cfg.Stages[m.s.StagesBegun-1][0]))
	case m.stageAnswered() && m.areEqual(standing):
		m.elect(Completed, m.standing(standing[0].Agent))
	case m.stageAnswered() && m.isVerdictDue():
		if m.awaitsConsultant(Verdict) || m.consult(Verdict) {
			return false
		}
	case m.s.StagesBegun < len(m.cfg.Stages):
		return m.openStage()
	case len(standing) == 0 && m.ix().liveOut > 0:
		return false
	case len(standing) == 0:
		m.electByVotes()
	case m.cfg.Decider == FirstAnswer:
		m.elect(Completed, m.standing(standing[0].Agent))
	case m.cfg.Decider == ByValue:
		m.electByValue()
	case m.cfg.Decider == ByJudge:
		return m.decideByJudge()
	default:
		return m.openRound()
	}
	return true
}

// stageAnswered is rule 16: all agents of the stage that are not out have answered, and there are
// at least two answers to compare.
func (m *Machine) stageAnswered() bool {
	if m.s.StagesBegun == 0 || len(m.current()) < 2 {
		return false
	}
	return !slices.ContainsFunc(m.cfg.Stages[m.s.StagesBegun-1], func(agent int) bool {
		return !m.s.Members[agent].Failed && m.standing(agent) < 0
	})
}

// passedAlone is rule 16: the only agent of a stage has given an answer that passed the check.
func (m *Machine) passedAlone() bool {
	if m.s.StagesBegun == 0 || len(m.cfg.Stages[m.s.StagesBegun-1]) > 1 {
		return false
	}
	at := m.standing(m.cfg.Stages[m.s.StagesBegun-1][0])
	return at >= 0 && !m.s.Answers[at].FailedCheck
}

func (m *Machine) isVerdictDue() bool {
	return m.cfg.Agree == AgreeByVerdict && m.s.Differing < m.s.StagesBegun
}

// electByValue is rule 15: each answer is its author's vote for its value. If no value was given
// twice, the answers convince nobody.
func (m *Machine) electByValue() {
	e := m.countValues()
	out := election.Elect(e)
	switch {
	case out.Winner < 0:
		m.elect(NoConsensus, m.standing(m.current()[0].Agent))
	case !isRepeated(e):
		m.elect(NoConsensus, m.standing(e.Candidates[e.Ballots[0].Voter]))
	default:
		m.conclude(out)
	}
}

// pick is rule 17: the judgement elects the best answer. With BothOrders the judge is asked again, and
// two picks that differ are tied.
func (m *Machine) pick(p pick) {
	m.s.Picks = append(m.s.Picks, p)
	if m.cfg.BothOrders && len(m.s.Picks) < 2 {
		return
	}
	first := m.s.Picks[0].Best
	if m.candidates()[first] == m.candidates()[p.Best] {
		m.electPick(Completed, first)
		return
	}
	m.conclude(election.Elect(election.Election{
		Ties: m.cfg.Ties, Candidates: m.candidates(), Arrivals: m.ix().standing,
		Ballots: []election.Ballot{{Voter: 0, For: []int{first}}, {Voter: 1, For: []int{p.Best}}},
	}))
}

// electPick elects an answer that the judge picked, with the analysis that goes with it.
func (m *Machine) electPick(status Status, best int) {
	m.s.Judged = true
	for _, p := range slices.Backward(m.s.Picks) {
		if m.candidates()[p.Best] == m.candidates()[best] {
			m.s.Analysis = p.Analysis
		}
	}
	m.elect(status, m.standing(best))
}

// decideByJudge is rule 15: the judge decides between different answers, after late calls have
// been cancelled. If its judgement has failed, one round of votes decides.
func (m *Machine) decideByJudge() bool {
	if m.countCandidates() < 2 {
		m.elect(Completed, m.standing(m.current()[0].Agent))
		return true
	}
	if m.s.Unjudged {
		return m.openRound()
	}
	for agent := range m.s.Members {
		m.recall(agent)
	}
	return !m.awaitsConsultant(Judgement) && !m.consult(Judgement)
}

func (m *Machine) countCandidates() int {
	n := 0
	for agent, c := range m.candidates() {
		if c == agent {
			n++
		}
	}
	return n
}

// name returns the id of an agent, or of a consultant outside of the panel.
func (m *Machine) name(agent int) string {
	switch n := len(m.cfg.Agents); agent {
	case n:
		return JudgeID
	case n + 1:
		return VerdictID
	}
	return m.cfg.Agents[agent]
}

// consultant returns the agent that a consultation asks.
func (m *Machine) consultant(p Purpose) int {
	if p == Verdict && m.cfg.VerdictByOther {
		return len(m.cfg.Agents) + 1
	}
	if p == Review {
		return m.s.Answers[m.s.Winner].Agent
	}
	if i := slices.Index(m.cfg.Agents, m.cfg.Judge); i >= 0 {
		return i
	}
	return len(m.cfg.Agents)
}

// isOutsider reports whether an index is that of a consultant outside of the panel.
func (m *Machine) isOutsider(agent int) bool {
	n := len(m.cfg.Agents)
	return agent == n && m.cfg.Judge == JudgeID || agent == n+1 && m.cfg.VerdictByOther
}

// isOut reports whether an agent or consultant makes no further call.
func (m *Machine) isOut(agent int) bool {
	if agent < len(m.s.Members) {
		return m.s.Members[agent].Failed
	}
	return slices.Contains(m.s.Outsiders, agent)
}

// isReturning reports whether an agent's cancelled call has not returned yet.
func (m *Machine) isReturning(agent int) bool {
	return agent < len(m.s.Members) && !m.s.Members[agent].Failed && m.s.Members[agent].Phase == Stopping
}

// recall cancels the call of a late agent, for a consultation that does not wait for its answer.
func (m *Machine) recall(agent int) {
	if m.s.Members[agent].Phase != Late {
		return
	}
	m.change(agent, func(x *member) { x.Act, x.Reason = ActLate, "its call had not come back when the answers were judged" })
	m.cancel(agent)
}

// awaitsConsultant reports whether the agent that a consultation asks has still another call. A
// late one is cancelled.
func (m *Machine) awaitsConsultant(p Purpose) bool {
	agent := m.consultant(p)
	if agent < len(m.s.Members) {
		m.recall(agent)
	}
	return m.isReturning(agent)
}

// outReason returns why an agent is out.
func (m *Machine) outReason(agent int) string {
	if agent < len(m.s.Members) {
		return cmp.Or(m.s.Members[agent].Reason, string(m.s.Members[agent].Act))
	}
	return string(ActDismissed)
}
