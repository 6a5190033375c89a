package kernel

import (
	"errors"
	"fmt"
	"time"
)

// Pace decides when agents act (rules 2 and 8).
type Pace string

// VoteRule decides when votes end a turn, and who wins then (rule 4).
type VoteRule string

// Strategy decides how the winning answer becomes the final answer (rule 9).
type Strategy string

// The values of a Config, in the words of the configuration.
const (
	PaceRounds Pace = "rounds"
	PaceEager  Pace = "eager"

	AllVoted  VoteRule = "all_voted"
	Majority  VoteRule = "majority"
	Unanimous VoteRule = "unanimous"

	WinnerReuse   Strategy = "winner_reuse"
	WinnerPresent Strategy = "winner_present"
	Synthesize    Strategy = "synthesize"
)

// Config has the rules of a turn. It is journaled with the accepted turn
// and does not change during it.
type Config struct {
	// Agents are the ids of the panel in the config's order, which breaks ties.
	// Everywhere else an agent is its index in this list.
	Agents   []string `json:"agents"`
	Pace     Pace     `json:"pace"`
	Decision VoteRule `json:"decision"`
	// MaxRounds is the last round, in which agents only vote; at least 2.
	MaxRounds int `json:"max_rounds"`
	// StragglerGrace is how long the last agents may keep a round open after more
	// than half have acted; 0 means for ever.
	StragglerGrace time.Duration `json:"straggler_grace"`
	// The most new answers of one agent, and of all; 0 means no limit.
	MaxNewAnswersPerAgent int  `json:"max_new_answers_per_agent"`
	MaxNewAnswersGlobal   int  `json:"max_new_answers_global"`
	SelfVote              bool `json:"self_vote"`
	// FirstRoundLimit, RoundLimit and TurnLimit are time limits; 0 means no limit.
	// RoundGrace is the time from a round's limit to the cancellation of the call.
	FirstRoundLimit time.Duration `json:"first_round_limit"`
	RoundLimit      time.Duration `json:"round_limit"`
	RoundGrace      time.Duration `json:"round_grace"`
	TurnLimit       time.Duration `json:"turn_limit"`
	Final           Strategy      `json:"final_answer_strategy"`
	// OneRound ends the rounds with the first one in which an answer was accepted: the first answer that
	// stands, in the config's order, wins without a vote. Only the pace of rounds has it.
	OneRound bool `json:"one_round,omitempty"`
}

// Defaults returns the configuration of DESIGN §4 for the given agents.
func Defaults(agents ...string) Config {
	return Config{
		Agents: agents, Pace: PaceRounds, Decision: AllVoted, MaxRounds: 5,
		StragglerGrace: time.Minute, SelfVote: true, Final: WinnerReuse,
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
	if c.OneRound && c.Pace != PaceRounds {
		return errors.New("one round needs the pace of rounds")
	}
	if !c.SelfVote && len(c.Agents) == 2 {
		return errors.New("self_vote: false with two agents would let each vote only for the other: allow it, or add an agent")
	}
	for _, n := range []int{c.MaxNewAnswersPerAgent, c.MaxNewAnswersGlobal} {
		if n < 0 {
			return errors.New("a limit of new answers cannot be negative; 0 means none")
		}
	}
	for _, d := range []time.Duration{c.StragglerGrace, c.FirstRoundLimit, c.RoundLimit, c.RoundGrace, c.TurnLimit} {
		if d < 0 {
			return errors.New("a time limit cannot be negative; 0 means none")
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
	switch c.Decision {
	case AllVoted, Majority, Unanimous:
	default:
		return fmt.Errorf("decision %q: it is all_voted, majority or unanimous", c.Decision)
	}
	switch c.Final {
	case WinnerReuse, WinnerPresent, Synthesize:
	default:
		return fmt.Errorf("final_answer_strategy %q: it is winner_reuse, winner_present or synthesize", c.Final)
	}
	return nil
}
