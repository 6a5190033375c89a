package kernel

import (
	"slices"
	"testing"

	"github.com/massgen/massgen/internal/coordination/election"
)

// voting are the rules of votes, checks and peers under consensus and blind, for two and three
// agents and so many rounds, and a judge that breaks ties.
func voting(rounds int) []scenario {
	var list []scenario
	for n := 2; n <= 3; n++ {
		for _, decider := range []Decider{Consensus, Blind} {
			base := Defaults(panel(n)...)
			base.Decider, base.MaxRounds, base.ConsultationLimit = decider, rounds, 7*ms
			for _, cfg := range votingOf(base) {
				if cfg.Validate() != nil {
					continue
				}
				may := []events{{answers: 1, equal: true, fail: true}, {answers: 1, dismiss: true}, {answers: 1, abstain: true, interrupt: true}}
				switch {
				case rounds > 2 && cfg.Check == "":
					may[0].answers = 2
				case n > 2:
					may[0].equal = cfg.StopEarly || cfg.Check != "" // which equal answers concern
					may[0].fail = false
				}
				for i, may := range may {
					clock := clocks()[2*(i%2)]
					if cfg.StopEarly && may.abstain {
						clock = clocks()[3] // so that calls are cancelled and still out
					}
					list = append(list, clock.set(scenario{cfg, may}))
				}
			}
		}
	}
	return slices.Concat(list, bothOrders())
}

func votingOf(base Config) []Config {
	var list []Config
	add := func(change func(*Config)) {
		cfg := base
		change(&cfg)
		list = append(list, cfg)
	}
	add(func(c *Config) { c.Peers = Peers{Ring: 1} })
	add(func(c *Config) { c.Peers = Peers{Random: 1, Seed: 7, Turn: 1} })
	add(func(c *Config) { c.Check = CheckRequired })
	add(func(c *Config) { c.StopEarly = true })
	add(func(c *Config) { c.StopEarly, c.Decision = true, election.Unanimous })
	add(func(c *Config) { c.Ties, c.Judge = election.ByJudge, JudgeID })
	add(func(c *Config) { c.Ties, c.Judge, c.StopEarly = election.ByJudge, "a", true })
	return list
}

// bothOrders are judges that are asked twice, and values that end a turn early.
func bothOrders() []scenario {
	var list []scenario
	for n := 2; n <= 3; n++ {
		for _, ties := range []election.Ties{"", election.ByJudge, election.NoTies} {
			cfg := Defaults(panel(n)...)
			cfg.MaxRounds, cfg.ConsultationLimit = 2, 7*ms
			cfg.Decider, cfg.Judge, cfg.BothOrders, cfg.Ties = ByJudge, "b", true, ties
			list = append(list, clocks()[0].set(scenario{cfg, events{answers: 1, equal: n == 2, fail: ties == "", dismiss: ties != ""}}))
		}
		cfg := Defaults(panel(n)...)
		cfg.MaxRounds, cfg.Decider, cfg.StopEarly = 2, ByValue, true
		list = append(list, clocks()[0].set(scenario{cfg, events{answers: 1, equal: true, fail: true, dismiss: true}}))
		cfg.Check, cfg.Decider = CheckRequired, ByJudge
		cfg.StopEarly, cfg.Judge = false, JudgeID
		list = append(list, clocks()[0].set(scenario{cfg, events{answers: 1, fail: true, interrupt: true}}))
	}
	return list
}

// fewVoting are those of two agents, and some of three.
func fewVoting() []scenario {
	return slices.DeleteFunc(voting(2), func(s scenario) bool {
		isStopped := s.cfg.StopEarly && s.may.abstain
		isDear := s.cfg.Decider == Consensus && (s.cfg.Check != "" || s.cfg.Ties != "")
		return len(s.cfg.Agents) > 2 && (isDear || !s.may.dismiss && !isStopped)
	})
}

// fewStrata are three agents whose members may all fail, or vote late.
func fewStrata() []scenario {
	cfg := Defaults(panel(3)...)
	cfg.MaxRounds = 3
	return []scenario{clocks()[0].set(scenario{cfg, events{answers: 1, fail: true}}), strata()[0]}
}

// picked is what follows a judgement: with both orders it takes two, which may differ.
func (c *checker) picked(best int, emit func(Command)) {
	c.picks = append(c.picks, best)
	first := c.picks[0]
	switch {
	case c.cfg.BothOrders && len(c.picks) < 2:
		return
	case c.text(first) != c.text(best) && c.cfg.Ties == election.ByJudge:
		c.elected(c.elects([]ballot{{voter: 0, target: first}, {voter: 1, target: best}}), emit)
		return
	}
	status := Completed
	if c.text(first) != c.text(best) {
		if c.cfg.Ties == election.NoTies {
			status = NoConsensus
		}
		first = c.ofTwo(first, best)
	}
	c.judged, c.hasAnalysis = true, true
	c.end(status, c.standing(first), emit)
}

// ofTwo is the answer that wins of two picks: the first in the config's order of those that are equal to
// one, or the earliest.
func (c *checker) ofTwo(a, b int) int {
	for _, i := range c.standingAll() {
		if c.cfg.Ties != election.Earliest && (c.text(i) == c.text(a) || c.text(i) == c.text(b)) {
			return i
		}
	}
	earliest := -1
	for _, i := range c.standingAll() {
		isPicked := c.text(i) == c.text(a) || c.text(i) == c.text(b)
		if isPicked && (earliest < 0 || c.standing(i) < c.standing(earliest)) {
			earliest = i
		}
	}
	for _, i := range c.standingAll() {
		if c.text(i) == c.text(earliest) {
			return i
		}
	}
	return earliest
}

// appendVoting adds to a key what rules 17 to 20 know of the machine, beside what others have.
func appendVoting(b []byte, m *Machine) []byte {
	if m.cfg.Check == CheckRequired {
		var failed byte
		for i := range m.s.Members {
			if at := m.standing(i); at >= 0 && m.s.Answers[at].FailedCheck {
				failed |= 1 << i
			}
		}
		newest := 0
		if at := m.newest(); at >= 0 {
			newest = m.s.Answers[at].Agent + 1
		}
		b = append(b, failed|byte(newest)<<4)
	}
	if m.cfg.BothOrders || m.cfg.Ties == election.ByJudge {
		var among, status, picks byte
		if t := m.s.Tie; t != nil {
			among, status = outsiders(t.Among, 0)|1<<7, t.Status[0]
		}
		for _, p := range m.s.Picks {
			picks = picks<<3 | byte(p.Best) + 1
		}
		b = append(b, among, status, picks)
	}
	return b
}

// TestIDsOfConsultantsAreTheirOwn: an agent with the id of a consultant is refused, if there is that consultant.
func TestIDsOfConsultantsAreTheirOwn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		id      string
		change  func(*Config)
		refused bool
	}{
		{JudgeID, func(c *Config) { c.Judge = "b" }, true},
		{JudgeID, func(c *Config) { c.VerdictByOther = true }, false},
		{VerdictID, func(c *Config) { c.VerdictByOther = true }, true},
		{VerdictID, func(c *Config) { c.Judge = "b" }, false},
	} {
		cfg := Defaults(test.id, "b")
		cfg.Stages, cfg.Agree = [][]int{{0, 1}}, AgreeByVerdict
		test.change(&cfg)
		if err := cfg.Validate(); (err != nil) != test.refused {
			t.Errorf("an agent %s, with the judge %q, another for the verdict %t: %v", test.id, cfg.Judge, cfg.VerdictByOther, err)
		}
	}
}
