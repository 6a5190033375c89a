package kernel

import (
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/coordination/election"
)

// Pace decides when agents act (rules 2 and 8).
type Pace string

// Strategy decides how the winning answer becomes the final answer (rule 9).
type Strategy string

// The values of a Config, in the words of the configuration.
const (
	PaceRounds Pace = "rounds"
	PaceEager  Pace = "eager"

	WinnerReuse   Strategy = "winner_reuse"
	WinnerPresent Strategy = "winner_present"
	Synthesize    Strategy = "synthesize"
	// SynthesizeByJudge has the judge write the answer after its judgement.
	SynthesizeByJudge Strategy = "synthesize_by_judge"
)

// Config has the rules of a turn. It is journaled with the accepted turn
// and does not change during it.
type Config struct {
	// Agents are the ids of the panel in the config's order, which breaks ties.
	// Everywhere else an agent is its index in this list.
	Agents []string `json:"agents"`
	Pace   Pace     `json:"pace"`
	// Decision decides when votes end a turn, and who wins then (rule 4).
	Decision election.Rule `json:"decision"`
	// MaxRounds is the last round, in which agents only vote; at least 2.
	MaxRounds int `json:"max_rounds"`
	// StragglerGrace is how long the last agents may keep a round open after more
	// than half have acted; 0 means for ever.
	StragglerGrace time.Duration `json:"straggler_grace"`
	// The most new answers of one agent, and of all; 0 means no limit.
	MaxNewAnswersPerAgent int  `json:"max_new_answers_per_agent"`
	MaxNewAnswersGlobal   int  `json:"max_new_answers_global"`
	SelfVote              bool `json:"self_vote"`
	// LeadCap is how many answers an agent may be ahead of the slowest live agent that has not voted; 0 means
	// any number (rule 6).
	LeadCap int `json:"lead_cap,omitempty"`
	// FirstRoundLimit, RoundLimit and TurnLimit are time limits; 0 means no limit.
	// RoundGrace is the time from a round's limit to the cancellation of the call.
	FirstRoundLimit time.Duration `json:"first_round_limit"`
	RoundLimit      time.Duration `json:"round_limit"`
	RoundGrace      time.Duration `json:"round_grace"`
	TurnLimit       time.Duration `json:"turn_limit"`
	Final           Strategy      `json:"final_answer_strategy"`
	// Decider decides over the first answers; empty means Consensus (rule 15).
	Decider Decider `json:"decider,omitempty"`
	// Stages are the agents that give first answers, stage by stage, each by its index; nil asks
	// all agents at once. Agree says when the answers of a stage agree (rule 16).
	Stages [][]int   `json:"stages,omitempty"`
	Agree  Agreement `json:"agree,omitempty"`
	// Values reports that answers are equal if their values are, whatever their texts.
	Values bool `json:"values,omitempty"`
	// Judge is the id of the agent that is consulted, or JudgeID for a judge outside of the panel;
	// empty for none. VerdictByOther has a model of its own give the verdicts.
	Judge          string `json:"judge,omitempty"`
	VerdictByOther bool   `json:"verdict_by_other,omitempty"`
	// ConsultationLimit is the time limit of a consultation; 0 means no limit.
	ConsultationLimit time.Duration `json:"consultation_limit,omitempty"`
	// Analysis has the judge analyse the answers after an election (rule 17).
	Analysis bool `json:"analysis,omitempty"`
	// Quorum, Ties and Weights are the fields of an election.Election.
	Quorum  float64       `json:"quorum,omitempty"`
	Ties    election.Ties `json:"ties,omitempty"`
	Weights []int         `json:"weights,omitempty"`
	// StopEarly ends the coordination as soon as no vote can change winner or status (rule 18).
	StopEarly bool `json:"stop_early,omitempty"`
	// BothOrders has the judge judge twice, the second time with the answers reversed (rule 17).
	BothOrders bool `json:"both_orders,omitempty"`
	// StragglerFactor shortens the grace to so many times the median time of those who have acted;
	// 0 leaves it as it is (rule 2).
	StragglerFactor float64 `json:"straggler_factor,omitempty"`
	// Peers limits the answers that an agent is shown (rule 19).
	Peers Peers `json:"peers,omitzero"`
	// MaxRestarts is how often the winner may have the turn start over (rule 21).
	MaxRestarts int `json:"max_restarts,omitempty"`
	// Check says what a failed check of an answer means; empty if answers are not checked (rule 20).
	Check CheckMode `json:"check,omitempty"`
}

// Defaults returns the configuration of DESIGN §4 for the given agents.
func Defaults(agents ...string) Config {
	return Config{
		Agents: agents, Pace: PaceRounds, Decision: election.AllVoted, MaxRounds: 5,
		StragglerGrace: time.Minute, SelfVote: true, Final: WinnerReuse,
	}
}

// AskOnce has each agent answer once; the first answer that stands is the result. Rules about what would
// follow the first answers go.
func (c *Config) AskOnce() {
	c.Decider, c.Pace, c.Final = FirstAnswer, PaceRounds, WinnerReuse
	c.Stages, c.Agree, c.Judge, c.VerdictByOther = nil, "", "", false
	c.Analysis, c.BothOrders, c.StopEarly, c.Peers, c.MaxRestarts = false, false, false, Peers{}, 0
	if c.Ties == election.ByJudge {
		c.Ties = ""
	}
}

// Validate returns an error if c is wrong.
func (c Config) Validate() error {
	if len(c.Agents) == 0 {
		return errors.New("a panel needs at least one agent")
	}
	if c.MaxRounds < 2 {
		return fmt.Errorf("max_rounds is %d: it must be at least 2, one round to answer and one to vote", c.MaxRounds)
	}
	for _, n := range []int{c.MaxNewAnswersPerAgent, c.MaxNewAnswersGlobal, c.LeadCap} {
		if n < 0 {
			return errors.New("a limit of new answers cannot be negative; 0 means none")
		}
	}
	if c.MaxRestarts < 0 {
		return errors.New("max_orchestration_restarts cannot be negative; 0 means none")
	}
	for _, d := range []time.Duration{c.StragglerGrace, c.FirstRoundLimit, c.RoundLimit, c.RoundGrace, c.TurnLimit, c.ConsultationLimit} {
		if d < 0 {
			return errors.New("a time limit cannot be negative; 0 means none")
		}
	}
	if c.StragglerFactor < 0 {
		return errors.New("straggler_factor cannot be negative; 0 means none")
	}
	for _, validate := range []func() error{c.validateStrategy, c.validatePeers, c.validateCheck} {
		if err := validate(); err != nil {
			return err
		}
	}
	return c.validateWords()
}

func (c Config) validateWords() error {
	switch c.Pace {
	case PaceRounds, PaceEager:
	default:
		return fmt.Errorf("pace %q: it is rounds or eager", c.Pace)
	}
	e := election.Election{Rule: c.Decision, Ties: c.Ties, Quorum: c.Quorum, Weights: c.Weights}
	if err := e.Check(len(c.Agents)); err != nil {
		return err
	}
	switch c.Final {
	case WinnerReuse, WinnerPresent, Synthesize, SynthesizeByJudge:
	default:
		return fmt.Errorf("final_answer_strategy %q: it is winner_reuse, winner_present or synthesize", c.Final)
	}
	return nil
}
