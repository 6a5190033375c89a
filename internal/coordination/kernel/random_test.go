package kernel

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/election"
)

// TestRandomTurns goes at random through turns of 2 to 50 agents under any
// setting, with the checker of the walk.
func TestRandomTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		may := events{
			answers: rapid.IntRange(1, 4).Draw(t, "answers"), equal: rapid.Bool().Draw(t, "equal"),
			fail: rapid.Bool().Draw(t, "fail"), abstain: rapid.Bool().Draw(t, "abstain"),
			interrupt: rapid.IntRange(0, 9).Draw(t, "interrupt") == 0, budget: rapid.IntRange(0, 9).Draw(t, "budget") == 0,
			dismiss: rapid.Bool().Draw(t, "dismiss"), overdue: rapid.Bool().Draw(t, "overdue"),
		}
		w, err := newWorld(cfg, may)
		if err != nil {
			t.Fatal(err)
		}
		for steps := 0; !w.m.Over(); steps++ {
			choices := w.next()
			if most := 60 * len(cfg.Agents) * len(cfg.Agents); steps > most {
				t.Fatalf("still not over after %d steps:\n%s", steps, w.m.Describe())
			}
			if rapid.Bool().Draw(t, "answer") {
				choices = onlyAnswers(choices)
			}
			ev := rapid.SampledFrom(choices).Draw(t, "event")
			if rapid.IntRange(0, 19).Draw(t, "reload") == 0 {
				reload(t, w.m)
			}
			if err := w.apply(ev); err != nil {
				t.Fatalf("violation: %v, after %T%+v in\n%s", err, ev, ev, w.m.Describe())
			}
			if kept, made := indexed(w.m, w.m.index), indexed(w.m, nil); kept != made {
				t.Fatalf("after %T%+v the index is\n%s and follows from the state as\n%s", ev, ev, kept, made)
			}
		}
		if err := w.checkEnd(); err != nil {
			t.Fatal(err)
		}
	})
}

// onlyAnswers leaves the new answers, if there are any: among fifty agents most of
// what may happen are votes.
func onlyAnswers(choices []Event) []Event {
	var list []Event
	for _, ev := range choices {
		if _, ok := ev.(Answered); ok {
			list = append(list, ev)
		}
	}
	if len(list) == 0 {
		return choices
	}
	return list
}

func drawConfig(t *rapid.T) Config {
	var ids []string
	for i := range rapid.IntRange(2, 50).Draw(t, "agents") {
		ids = append(ids, fmt.Sprint("agent", i+1))
	}
	limit := rapid.SampledFrom([]time.Duration{0, 0, 5 * ms, 50 * ms})
	cfg := Config{
		Agents:                ids,
		Pace:                  rapid.SampledFrom([]Pace{PaceRounds, PaceEager}).Draw(t, "pace"),
		Decision:              rapid.SampledFrom([]election.Rule{election.AllVoted, election.Majority, election.Unanimous}).Draw(t, "decision"),
		MaxRounds:             rapid.IntRange(2, 6).Draw(t, "max rounds"),
		StragglerGrace:        limit.Draw(t, "grace"),
		MaxNewAnswersPerAgent: rapid.IntRange(0, 3).Draw(t, "per agent"),
		MaxNewAnswersGlobal:   rapid.SampledFrom([]int{0, 0, 1, 5, len(ids)}).Draw(t, "global"),
		LeadCap:               rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "lead"),
		MaxRestarts:           rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "restarts"),
		SelfVote:              rapid.Bool().Draw(t, "self vote"),
		FirstRoundLimit:       limit.Draw(t, "first round"),
		RoundLimit:            limit.Draw(t, "round"),
		RoundGrace:            limit.Draw(t, "round grace"),
		TurnLimit:             10 * limit.Draw(t, "turn"),
		Final:                 rapid.SampledFrom([]Strategy{WinnerReuse, WinnerPresent, Synthesize}).Draw(t, "final"),
	}
	drawStrategy(t, &cfg)
	if rapid.Bool().Draw(t, "rules of voting") {
		drawVoting(t, &cfg)
	}
	return cfg
}

// drawVoting adds rules of voting, a check and peers.
func drawVoting(t *rapid.T, cfg *Config) {
	n := len(cfg.Agents)
	cfg.Ties = rapid.SampledFrom([]election.Ties{"", election.ByConfig, election.Earliest, election.NoTies, election.ByJudge}).Draw(t, "ties")
	if cfg.Ties == election.ByJudge && cfg.Judge == "" {
		cfg.Judge = JudgeID
	}
	cfg.Decision = rapid.SampledFrom([]election.Rule{cfg.Decision, election.Quorum, election.Approval, election.Ranked}).Draw(t, "rule")
	if rapid.Bool().Draw(t, "weighted") {
		cfg.Weights = rapid.SliceOfN(rapid.IntRange(1, 3), n, n).Draw(t, "weights")
	}
	if cfg.Decision == election.Quorum {
		cfg.Quorum = rapid.SampledFrom([]float64{1, 2, 0.4, 0.6, 0.99}).Draw(t, "quorum")
	}
	cfg.StopEarly = (n <= 3 || cfg.Decider != ByValue) && rapid.Bool().Draw(t, "stop early")
	cfg.BothOrders = cfg.Decider == ByJudge && rapid.Bool().Draw(t, "both orders")
	cfg.Check = rapid.SampledFrom([]CheckMode{"", CheckRequired, CheckShown}).Draw(t, "check")
	if cfg.Pace == PaceRounds && cfg.Decider != ByValue && cfg.Decider != ByJudge && cfg.Decider != FirstAnswer && cfg.Decision != election.Ranked && n > 2 {
		k := rapid.IntRange(0, n-2).Draw(t, "peers")
		if cfg.Peers.Ring = k; rapid.Bool().Draw(t, "drawn") {
			cfg.Peers = Peers{Random: k, Seed: rapid.Uint64().Draw(t, "seed")}
			if k == 0 {
				cfg.Peers = Peers{}
			}
		}
	}
}

// drawStrategy adds a strategy to every other configuration.
func drawStrategy(t *rapid.T, cfg *Config) {
	if rapid.Bool().Draw(t, "no strategy") {
		return
	}
	n := len(cfg.Agents)
	cfg.Judge = rapid.SampledFrom([]string{JudgeID, cfg.Agents[0], cfg.Agents[n-1]}).Draw(t, "judge")
	cfg.Analysis, cfg.Values = rapid.Bool().Draw(t, "analysis"), rapid.Bool().Draw(t, "values")
	cfg.ConsultationLimit = rapid.SampledFrom([]time.Duration{0, 7 * ms}).Draw(t, "consultation limit")
	if cfg.Pace == PaceEager {
		return
	}
	cfg.Decider = rapid.SampledFrom([]Decider{Consensus, Blind, ByValue, ByJudge, FirstAnswer}).Draw(t, "decider")
	if cfg.Decider == ByJudge && rapid.Bool().Draw(t, "the judge writes") {
		cfg.Final = SynthesizeByJudge
	}
	if rapid.Bool().Draw(t, "all at once") {
		return
	}
	cfg.Agree = rapid.SampledFrom([]Agreement{AgreeByText, AgreeByVerdict}).Draw(t, "agree")
	cfg.VerdictByOther = rapid.Bool().Draw(t, "another gives verdicts")
	for asked := 0; asked < n; {
		asked = rapid.IntRange(max(asked+1, 2), n).Draw(t, "asked")
		var stage []int
		for i := range asked {
			stage = append(stage, i)
		}
		cfg.Stages = append(cfg.Stages, stage)
	}
}

// reload puts a machine's copy through JSON in its place.
func reload(t *rapid.T, m *Machine) {
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	*m = Machine{}
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
}

// indexed shows what an index says of the state; nil is one that is made of it.
func indexed(m *Machine, ix *index) string {
	reader := *m
	reader.index = ix
	kept := reader.ix()
	reader.current()
	return fmt.Sprintf("live %d (%d out), members %d (%d out), limits %v, standing %v, current %v, votable %v, candidates %v, ballots %v",
		kept.live, kept.liveOut, kept.members, kept.memberOut, kept.limits, kept.standing, kept.current, kept.votable, reader.candidates(), reader.ballots())
}
