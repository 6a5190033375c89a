package kernel

import (
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/system/blob"
)

// This file is the checker's reading of rules 15 to 17: what follows the first
// answers, and consultations.

// panelFirsts is the checker's account of them.
type panelFirsts struct {
	stages      int // begun
	differing   int // the newest stage whose answers a verdict found to differ
	consulting  open
	judged      bool // a judgement decided
	hasAnalysis bool
	unjudged    bool // a judgement or an analysis failed
	outsiders   []int
}

// open is the consultation under way, if there is one.
type open struct {
	open, ended bool
	purpose     Purpose
	agent, set  int
	limitAt     Time
}

// analysed is the text of every analysis.
var analysed = blob.Ref{SHA256: "analysis", Bytes: 8}

func (c *checker) ruledByFirsts() bool {
	return len(c.cfg.Stages) > 0 || slices.Contains([]Decider{ByValue, ByJudge, FirstAnswer}, c.cfg.Decider)
}

func (c *checker) lastRound() int {
	if c.cfg.Decider == "" || c.cfg.Decider == Consensus {
		return c.cfg.MaxRounds
	}
	return 2
}

// followsFirsts says whether a round, or a stage, may open on the answers of an
// earlier stage.
func (c *checker) followsFirsts(round int) bool {
	return len(c.cfg.Stages) > 0 && round == 1 || c.ruledByFirsts() && round == 2 && len(c.answers) > 0
}

// openStage begins the next stage: its agents that nobody has asked.
func (c *checker) openStage(emit func(Command)) bool {
	stage := c.cfg.Stages[c.stages]
	c.stages++
	c.round, c.open, c.roundSet = 1, true, len(c.answers)
	for i := range c.seats {
		s := &c.seats[i]
		s.member = slices.Contains(stage, i) && !s.asked && !s.failed
	}
	for i := range c.seats {
		if c.seats[i].member {
			c.begin(i, 1, emit)
		}
	}
	return true
}

// afterFirsts is what follows when a stage, or the only round of first answers,
// has closed.
func (c *checker) afterFirsts(emit func(Command)) bool {
	who := c.standingAll()
	texts := map[string]bool{}
	late := false
	for _, i := range who {
		texts[c.text(i)] = true
	}
	for _, s := range c.seats {
		late = late || s.late && s.busy && !s.failed || s.stopping && !s.failed
	}
	if c.stages > 0 && len(c.cfg.Stages[c.stages-1]) == 1 {
		if only := c.cfg.Stages[c.stages-1][0]; c.seats[only].count > 0 && !c.answers[c.standing(only)].failed {
			c.end(Completed, c.standing(only), emit)
			return true
		}
	}
	if c.stages > 0 && len(who) > 1 && c.stageHasAnswered() {
		switch {
		case len(texts) == 1:
			c.end(Completed, c.standing(who[0]), emit)
			return true
		case c.cfg.Agree == AgreeByVerdict && c.differing < c.stages:
			by := c.judge()
			if c.cfg.VerdictByOther {
				by = len(c.seats) + 1
			}
			return !c.isBusyElsewhere(by, emit) && !c.consult(Verdict, by, emit)
		}
	}
	switch {
	case c.stages < len(c.cfg.Stages):
		return c.openStage(emit)
	case len(who) == 0 && late:
		return false
	case len(who) == 0:
		c.end(AllFailed, -1, emit)
	case c.cfg.Decider == FirstAnswer:
		c.end(Completed, c.standing(slices.Min(who)), emit)
	case c.cfg.Decider == ByValue:
		c.byValues(emit)
	case c.cfg.Decider == ByJudge:
		return c.byJudge(len(texts), emit)
	default:
		return c.openRound(emit)
	}
	return true
}

func (c *checker) stageHasAnswered() bool {
	for _, i := range c.cfg.Stages[c.stages-1] {
		if s := c.seats[i]; !s.failed && s.count == 0 {
			return false
		}
	}
	return true
}

// values counts the answers of each value as votes. twice says that two answers have one value.
func (c *checker) values() (e election.Election, twice bool) {
	var votes []ballot
	counts := map[string]int{}
	for _, i := range c.standingAll() {
		if !c.cfg.Values || c.answers[c.standing(i)].value != "" {
			votes = append(votes, ballot{voter: i, target: i})
			counts[c.text(i)]++
			twice = twice || counts[c.text(i)] > 1
		}
	}
	return c.election(votes), twice
}

// earlyValue ends the first round as soon as a value has the votes, or nothing can change.
func (c *checker) earlyValue(emit func(Command)) bool {
	e, twice := c.values()
	counts := c.cfg.Decision == election.Majority || c.cfg.Decision == election.Quorum
	if !c.open || len(c.cfg.Stages) > 0 || !twice {
		return false
	}
	if counts && election.Won(e) || c.cfg.StopEarly && c.valueStays(election.Elect(e), c.mayStillVote()) {
		c.elected(election.Elect(e), emit)
		return true
	}
	return false
}

// valueStays says that no further first answers change winner or status: each may have any value that
// there is, or a new one.
func (c *checker) valueStays(now election.Outcome, out []int) bool {
	e, _ := c.values()
	if then := election.Elect(e); then.Winner != now.Winner || then.Consensus != now.Consensus {
		return false
	}
	if len(out) == 0 {
		return true
	}
	if !c.valueStays(now, out[1:]) {
		return false
	}
	texts := []entry{{hash: fmt.Sprint("new of ", out[0]), value: fmt.Sprint("new of ", out[0])}}
	for _, i := range c.standingAll() {
		texts = append(texts, c.answers[c.standing(i)])
	}
	for _, text := range texts {
		with := c.clone()
		with.seats[out[0]].count++
		with.answers = append(with.answers, entry{agent: out[0], hash: text.hash, value: text.value})
		if !with.valueStays(now, out[1:]) {
			return false
		}
	}
	return true
}

func (c *checker) byValues(emit func(Command)) {
	e, twice := c.values()
	switch {
	case len(e.Ballots) == 0:
		c.end(NoConsensus, c.standing(c.standingAll()[0]), emit)
	case !twice:
		c.end(NoConsensus, c.standing(e.Ballots[0].Voter), emit)
	default:
		c.elected(election.Elect(e), emit)
	}
}

// byJudge asks the judge about different answers, once all late calls are
// cancelled, and has the agents vote if that fails.
func (c *checker) byJudge(candidates int, emit func(Command)) bool {
	if candidates < 2 {
		c.end(Completed, c.standing(c.standingAll()[0]), emit)
		return true
	}
	if c.unjudged {
		return c.openRound(emit)
	}
	for i := range c.seats {
		c.recallLate(i, emit)
	}
	return !c.isBusyElsewhere(c.judge(), emit) && !c.consult(Judgement, c.judge(), emit)
}

func (c *checker) recallLate(agent int, emit func(Command)) {
	if s := &c.seats[agent]; s.late && s.busy {
		s.busy, s.stopping, s.late, s.recalled, s.act = false, true, false, true, ActLate
		emit(Cancel{agent})
	}
}

// isBusyElsewhere says whether a consultation has to wait for another call of its
// agent, which it cancels.
func (c *checker) isBusyElsewhere(agent int, emit func(Command)) bool {
	if agent >= len(c.seats) {
		return false
	}
	c.recallLate(agent, emit)
	return c.seats[agent].stopping && !c.seats[agent].failed
}

// consult opens a consultation. It fails at once, and is not opened, if its agent
// is out.
func (c *checker) consult(p Purpose, agent int, emit func(Command)) bool {
	if c.isGone(agent) {
		c.concluded(p, Consulted{Reason: "out"}, emit)
		return false
	}
	c.consulting = open{open: true, purpose: p, agent: agent, set: len(c.answers)}
	if c.cfg.ConsultationLimit > 0 {
		c.consulting.limitAt = c.later(c.cfg.ConsultationLimit.Milliseconds())
	}
	o := c.allStanding()
	if o.Reversed = p == Judgement && len(c.picks) > 0; p == TieBreak {
		o.Shown = slices.DeleteFunc(o.Shown, func(a Answer) bool { return !slices.Contains(c.tied, a.Agent) })
	}
	if p == Review {
		o.Shown = slices.DeleteFunc(o.Shown, func(a Answer) bool { return a.Agent != agent })
	}
	emit(Consult{Agent: agent, Round: c.formerRounds + c.round, Purpose: p, Offer: o})
	return true
}

// allStanding offers nothing, and shows all answers that may win.
func (c *checker) allStanding() Offer {
	o := Offer{Set: len(c.answers)}
	for _, i := range c.standingAll() {
		o.Shown = append(o.Shown, Answer{Agent: i, N: c.seats[i].former + c.seats[i].count, Hash: c.answers[c.standing(i)].hash})
	}
	return o
}

func (c *checker) bookConsulted(ev Consulted, emit func(Command)) {
	was := c.consulting
	c.consulting = open{}
	if was.ended {
		ev = Consulted{Reason: "it was ended"}
	}
	if isNew := was.set < len(c.answers); was.purpose == Verdict && ev.Reason == "" && ev.Same && isNew {
		return // it has not read all that stands
	}
	c.concluded(was.purpose, ev, emit)
}

func (c *checker) concluded(p Purpose, ev Consulted, emit func(Command)) {
	failed := ev.Reason != ""
	switch {
	case p == Review:
		if c.restarting = !failed && !ev.Same; !c.restarting {
			c.over = true
			emit(Finish{})
		}
	case p == Verdict && !failed && ev.Same:
		c.end(Completed, c.standing(c.standingAll()[0]), emit)
	case p == Verdict:
		c.differing = c.stages
	case p == TieBreak:
		best := ev.Best
		if failed {
			best = c.tied[0]
		}
		if len(c.picks) > 0 {
			c.judged, c.hasAnalysis = true, true
		}
		c.end(c.tieStatus, c.standing(best), emit)
	case failed:
		c.unjudged, c.picks = true, nil
	case p == Judgement:
		c.picked(ev.Best, emit)
	default:
		c.hasAnalysis = true
	}
}

// limitConsultation ends a consultation at its limit.
func (c *checker) limitConsultation(emit func(Command)) {
	if x := &c.consulting; x.open && !x.ended && x.limitAt != 0 && c.now >= x.limitAt {
		x.ended = true
		emit(Cancel{x.agent})
	}
}

// dropConsultation ends a consultation for which nobody waits any more.
func (c *checker) dropConsultation(emit func(Command)) {
	if c.consulting.open && !c.consulting.ended {
		emit(Cancel{c.consulting.agent})
	}
	c.consulting = open{}
}

func (c *checker) dismissConsultant(agent int, emit func(Command)) {
	switch {
	case c.presenting:
		c.presenting, c.over = false, true
		emit(Cancel{agent})
		emit(Finish{})
	case c.consulting.open && c.consulting.agent == agent && !c.consulting.ended:
		c.consulting.ended = true
		emit(Cancel{agent})
	}
}

func (c *checker) mayDismissOutsider(agent int) bool {
	isThere := agent == len(c.seats) && c.cfg.Judge == JudgeID || agent == len(c.seats)+1 && c.cfg.VerdictByOther
	return isThere && !c.isGone(agent) && (!c.decided || c.isStillAsked(agent))
}

// isStillAsked says whether an agent is asked after the decision, or will be.
func (c *checker) isStillAsked(agent int) bool {
	return c.consulting.open && c.consulting.agent == agent || c.isPresented() && !c.final && c.presenter() == agent ||
		c.reviewIsDue() && !c.restarting && c.answers[c.winner].agent == agent
}

func (c *checker) isGone(agent int) bool {
	if agent < len(c.seats) {
		return c.seats[agent].failed
	}
	return slices.Contains(c.outsiders, agent)
}

// judge is the index of the judge.
func (c *checker) judge() int {
	if i := slices.Index(c.cfg.Agents, c.cfg.Judge); i >= 0 {
		return i
	}
	return len(c.seats)
}

func (c *checker) isPresented() bool {
	if c.cfg.Final == SynthesizeByJudge {
		return c.judged
	}
	return c.cfg.Final != WinnerReuse
}

func (c *checker) presenter() int {
	if c.cfg.Final == SynthesizeByJudge {
		return c.judge()
	}
	return c.answers[c.winner].agent
}

// analysisIsDue says whether an election is to be followed by an analysis of
// different answers.
func (c *checker) analysisIsDue() bool {
	texts := map[string]bool{}
	for _, i := range c.standingAll() {
		texts[c.text(i)] = true
	}
	return c.cfg.Analysis && !c.hasAnalysis && !c.unjudged && len(texts) > 1
}

// opinions lists how the consultation under way may end. What a cancelled one
// still returns is one of two.
func (w world) opinions(list []Event, at Time) []Event {
	x := w.c.consulting
	if !x.open {
		return list
	}
	list = append(list, Consulted{At: at, Reason: "r"})
	switch {
	case x.purpose == Verdict || x.purpose == Review:
		list = append(list, Consulted{At: at, Same: true})
		if !x.ended {
			list = append(list, Consulted{At: at, Analysis: analysed})
		}
	case x.purpose == TieBreak && !x.ended:
		for _, best := range w.c.tied {
			list = append(list, Consulted{At: at, Best: best})
		}
	case x.purpose == Analysis || x.ended:
		list = append(list, Consulted{At: at, Best: w.c.standingAll()[0], Analysis: analysed})
	default:
		for _, best := range w.c.standingAll() {
			list = append(list, Consulted{At: at, Best: best, Analysis: analysed})
		}
	}
	return list
}

// impossibleOpinions are those that no consultant can have.
func (w world) impossibleOpinions() (list []Event) {
	may := w.c.standingAll()
	switch p := w.c.consulting.purpose; {
	case w.c.consulting.ended || p != Judgement && p != TieBreak:
		return nil
	case p == TieBreak:
		may = w.c.tied
	}
	list = []Event{Consulted{Best: -1}, Consulted{Best: len(w.c.seats)}}
	for i := range w.c.seats {
		if !slices.Contains(may, i) {
			list = append(list, Consulted{Best: i})
		}
	}
	return list
}

// appendStrategy adds to a key what rules 15 to 17 know of the machine.
func appendStrategy(b []byte, m *Machine) []byte {
	s := &m.s
	if !hasFirsts(m.cfg) {
		return b
	}
	var under, limit, review byte
	if c := s.Consulting; c != nil {
		under = byte(c.Agent) + 1 | bit(c.Ended != "")<<3 | bit(c.Purpose == Verdict)<<4 | bit(c.Purpose == Analysis)<<5 | bit(c.Purpose == TieBreak)<<6 | bit(c.Set == m.set())<<7
		limit, review = left(c.LimitAt, s.Now), bit(c.Purpose == Review)
	}
	return append(b, byte(s.StagesBegun)<<4|byte(s.Differing), under, limit,
		bit(s.Judged)|bit(s.Unjudged)<<1|bit(s.Analysis != blob.Ref{})<<2|byte(len(s.Outsiders))<<3, outsiders(s.Outsiders, len(s.Members)),
		bit(s.Final)|bit(s.Restarting)<<1|bit(s.Former.Text != blob.Ref{})<<2|byte(s.Restarts)<<3|review<<6)
}

func hasFirsts(cfg Config) bool {
	return cfg.Strategy() != "" || cfg.Analysis || cfg.MaxRestarts > 0 || cfg.Ties == election.ByJudge
}

func outsiders(list []int, n int) (bits byte) {
	for _, i := range list {
		bits |= 1 << (i - n)
	}
	return bits
}

// appendFirsts adds to a key what the account has of them.
func (w world) appendFirsts(b []byte) []byte {
	c := w.c
	if !hasFirsts(c.cfg) {
		return b
	}
	x := c.consulting
	b = append(b, bit(c.final)|bit(c.restarting)<<1|bit(c.formerShown != blob.Ref{})<<2|byte(c.restarts)<<3)
	b = append(b, byte(c.stages)<<4|byte(c.differing), byte(x.agent)<<3|bit(x.open)|bit(x.ended)<<1|bit(x.set == len(c.answers))<<2, left(x.limitAt, c.now),
		bit(c.judged)|bit(c.unjudged)<<1|bit(c.hasAnalysis)<<2, outsiders(c.outsiders, len(c.seats)))
	for _, s := range c.seats {
		b = append(b, bit(s.asked)|bit(s.recalled)<<1)
	}
	return b
}

// deciders are all deciders over all ways of first answers, with each kind of
// judge and of trouble.
func deciders() []scenario {
	var list []scenario
	for n := 2; n <= 3; n++ {
		for _, cfg := range strategiesOf(n) {
			for i, may := range []events{
				{answers: 1, equal: true, fail: true}, {answers: 1, dismiss: true}, {answers: 1, equal: true, abstain: true, interrupt: true, budget: true},
			} {
				list = append(list, clocks()[2*i%len(clocks())].set(scenario{cfg, may}))
			}
			last := cfg
			last.FirstRoundLimit, last.RoundLimit, last.TurnLimit, last.StragglerGrace = 15*ms, 4*ms, 25*ms, 10*ms
			list = append(list, scenario{last, events{answers: 1, overdue: true}})
		}
	}
	return list
}

// strategiesOf are the strategies of a panel.
func strategiesOf(n int) []Config {
	base := Defaults(panel(n)...)
	base.MaxRounds, base.ConsultationLimit = 2, 7*ms
	var list []Config
	add := func(change func(*Config)) {
		cfg := base
		change(&cfg)
		if err := cfg.Validate(); err != nil {
			panic(err)
		}
		list = append(list, cfg)
	}
	cascade := func(cfg *Config, agree Agreement, then Decider) {
		cfg.Stages, cfg.Agree, cfg.Decider, cfg.Judge = [][]int{{0, 1}, {0, 1, 2}}, agree, then, "b"
		if n == 2 {
			cfg.Stages = [][]int{{0, 1}}
		}
	}
	add(func(c *Config) { c.Decider = Blind; c.MaxRounds = 5 })
	add(func(c *Config) { c.Decider = ByValue; c.Decision = election.Majority })
	add(func(c *Config) { c.Decider, c.Values, c.Decision = ByValue, true, election.Unanimous })
	add(func(c *Config) { c.Decider, c.Values = Blind, true })
	add(func(c *Config) { c.Decider = FirstAnswer })
	add(func(c *Config) { c.Decider, c.Decision, c.Final = FirstAnswer, election.Majority, WinnerPresent })
	add(func(c *Config) { c.Decider, c.Judge = ByJudge, JudgeID })
	add(func(c *Config) { c.Decider, c.Judge, c.Final = ByJudge, "a", SynthesizeByJudge })
	add(func(c *Config) { c.Decider, c.Judge, c.Final = ByJudge, JudgeID, SynthesizeByJudge })
	add(func(c *Config) { c.Decider, c.Judge, c.Final = ByJudge, "b", WinnerPresent })
	add(func(c *Config) { c.Decider, c.Judge, c.Analysis = Consensus, JudgeID, true })
	add(func(c *Config) { c.Decider, c.Judge, c.Analysis, c.Final = Blind, "a", true, WinnerPresent })
	add(func(c *Config) { cascade(c, AgreeByText, Consensus) })
	add(func(c *Config) { cascade(c, AgreeByText, ByValue) })
	add(func(c *Config) { cascade(c, AgreeByVerdict, Blind); c.VerdictByOther = true })
	add(func(c *Config) { cascade(c, AgreeByVerdict, ByJudge); c.Judge = JudgeID })
	add(func(c *Config) { cascade(c, AgreeByVerdict, ByJudge); c.Judge = "a"; c.Final = SynthesizeByJudge })
	if n == 3 {
		add(func(c *Config) { cascade(c, AgreeByVerdict, Blind); c.Judge = "c" })
	}
	return list
}

// deeperDeciders let agents improve their answers after the stages, in three
// rounds, once.
func deeperDeciders() []scenario {
	var list []scenario
	for _, cfg := range strategiesOf(3) {
		if cfg.Decider == Consensus {
			cfg.MaxRounds = 3
			list = append(list, clocks()[0].set(scenario{cfg, events{answers: 2, equal: true, fail: true}}))
		}
	}
	return list
}

// fewDeciders are those of two agents, and some of three whose answers may be
// equal.
func fewDeciders() []scenario {
	return slices.DeleteFunc(deciders(), func(s scenario) bool {
		isJudged := s.cfg.Decider == ByJudge && s.may.fail
		return len(s.cfg.Agents) > 2 && (!s.may.equal || len(s.cfg.Stages) == 0 && !isJudged)
	})
}
