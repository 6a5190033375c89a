package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// size counts the indices of agents, with those of the consultants outside of the panel.
func (o *Options) size() int {
	switch n := len(o.Agents); {
	case o.Verdict != nil:
		return n + 2
	case o.Judge != nil:
		return n + 1
	default:
		return n
	}
}

// agent returns an agent of the panel, or a consultant outside of it, which may be nil.
func (o *Options) agent(i int) *Agent {
	switch n := len(o.Agents); i {
	case n:
		return o.Judge
	case n + 1:
		return o.Verdict
	}
	return &o.Agents[i]
}

// checkStrategy returns an error for consultants that the rules do not name, and for a wrong pattern.
// It gives the consultants their ids.
func (o *Options) checkStrategy() error {
	if (o.Rules.Judge == kernel.JudgeID) != (o.Judge != nil) || o.Rules.VerdictByOther != (o.Verdict != nil) {
		return errors.New("Options.Judge and Options.Verdict go with the rules that name them")
	}
	for i := len(o.Agents); i < o.size(); i++ {
		switch a := o.agent(i); {
		case a == nil:
		case a.Backend == nil:
			return fmt.Errorf("the %s has no backend", o.consultant(i))
		default:
			named := *a
			named.ID, named.Tools, named.Snapshot = o.consultant(i), nil, nil
			if i == len(o.Agents) {
				o.Judge = &named
			} else {
				o.Verdict = &named
			}
		}
	}
	if _, err := regexp.Compile(o.AnswerPattern); err != nil {
		return fmt.Errorf("answer_pattern: %w", err)
	}
	if (o.Check != nil) != (o.Rules.Check != "") {
		return errors.New("Options.Check goes with Rules.Check")
	}
	return nil
}

// consultant returns the id of a consultant outside of the panel.
func (o *Options) consultant(i int) string {
	if i == len(o.Agents) {
		return kernel.JudgeID
	}
	return kernel.VerdictID
}

// valueIn says how the values of a turn's answers are read; nil if their texts count. The schema is
// that of the answers, zero for none.
func (o *Options) valueIn(schema blob.Ref) (*effect.Value, error) {
	hasSchema, counts := schema != (blob.Ref{}), o.Rules.Decider == kernel.ByValue
	switch {
	case o.AnswerPattern != "":
		return &effect.Value{Pattern: o.AnswerPattern}, nil
	case hasSchema && (counts || len(o.Rules.Stages) > 0):
		return &effect.Value{}, nil
	case counts:
		return nil, errors.New("strategy majority counts values: set answer_pattern, or ask with a schema for the answer")
	}
	return nil, nil
}

// has reports whether the options have the consultants and the check that rules name.
func (o *Options) has(rules kernel.Config) bool {
	return (rules.Judge != kernel.JudgeID || o.Judge != nil) && (!rules.VerdictByOther || o.Verdict != nil) && (rules.Check == "" || o.Check != nil)
}

// complete gives rules and description what a turn has of both: how values are read, votes with several
// names, the check, and the seed by which answers are shuffled and peers are drawn.
func (o *Options) complete(ctx context.Context, rules *kernel.Config, described *effect.Turn) {
	rules.Values = described.Value != nil
	seed := rand.Uint64()
	if o.TurnSeed != nil {
		if given, ok := o.TurnSeed(ctx); ok {
			seed = given
		}
	}
	seed >>= 11 // which any JSON reader keeps
	if o.Seed != nil {
		seed = *o.Seed
	}
	if o.Shuffle {
		described.Shuffle = &effect.Shuffle{Seed: seed}
	}
	if rules.Peers.Random > 0 {
		rules.Peers.Seed, rules.Peers.Turn = seed, described.Turn
	}
	if d := rules.Decision; d == election.Approval || d == election.Ranked {
		described.Rule = d
	}
	described.Check = o.Check
}

// sameCheck reports whether a journal names the check of the panel.
func (o *Options) sameCheck(began *effect.Check) bool {
	if began == nil || o.Check == nil {
		return began == o.Check
	}
	return slices.Equal(began.Command, o.Check.Command) && began.Pattern == o.Check.Pattern
}

// forwarded returns the tools that the client runs: a judge that writes the answer has no others.
func forwarded(tools []agents.Tool) []agents.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t agents.Tool) bool { return !t.Definition().Forwarded })
}
