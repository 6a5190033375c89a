package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/system/plain"
)

// Choice selects calls of a session.
type Choice struct {
	turn  int    // 0 selects all turns
	Agent string // "" selects all agents
	Round int    // 0 selects all rounds
}

// newChoice parses the arguments that follow SESSION: a turn, an agent, or both in this order. No
// arguments select all calls.
func newChoice(words []string) (c Choice, err error) {
	if len(words) > 0 {
		if n, err := strconv.Atoi(words[0]); err == nil {
			if n < 1 {
				return c, fmt.Errorf("there is no turn %d: turns count from 1", n)
			}
			c.turn, words = n, words[1:]
		}
	}
	switch len(words) {
	case 0:
	case 1:
		c.Agent = words[0]
	default:
		return c, errors.New("its form is: massgen inputs [SESSION] [TURN] [AGENT]")
	}
	return c, nil
}

// choose is newChoice with the command's flags.
func (c *command) choose(words []string) (Choice, error) {
	chosen, err := newChoice(words)
	chosen.Round = c.round
	return chosen, err
}

// Of returns the selected calls. If there are none, the error names the agents that there are.
func (c Choice) Of(calls []debugbackend.Call) ([]debugbackend.Call, error) {
	var agents []string
	rounds := 0 // of the selected agent
	agent := c.agentOf(calls)
	chosen := slices.DeleteFunc(slices.Clone(calls), func(call debugbackend.Call) bool {
		k := call.Request.Key
		if c.turn > 0 && k.Turn != c.turn {
			return true
		}
		if k.Agent != "" && !slices.Contains(agents, k.Agent) {
			agents = append(agents, k.Agent)
		}
		if agent != "" && k.Agent != agent {
			return true
		}
		rounds = max(rounds, k.Round)
		return c.Round > 0 && k.Round != c.Round
	})
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case rounds > 0:
		return nil, fmt.Errorf("there is no call of round %d: the last one has the number %d", c.Round, rounds)
	case len(agents) > 0:
		slices.Sort(agents)
		return nil, fmt.Errorf("there is no call of %s: the agents are %s", plain.Line(c.Agent), plain.Line(plain.List(agents)))
	case c.turn > 0:
		return nil, fmt.Errorf("turn %d has no call here: it is of the session that this one was branched off, or made none", c.turn)
	}
	return nil, errors.New("there is no call yet")
}

// agentOf returns the id of the selected agent: c.agent itself if an agent of calls has this id, else
// the id of the agent that the models know by this name.
func (c Choice) agentOf(calls []debugbackend.Call) string {
	named := c.Agent
	for _, call := range calls {
		if id := call.Participants[c.Agent]; id != "" {
			named = id
		}
		for _, id := range call.Participants {
			if id == c.Agent {
				return c.Agent
			}
		}
		if call.Request.Key.Agent == c.Agent {
			return c.Agent
		}
	}
	return named
}

// keptCalls reads the calls of a session that words select from its journals.
func (c *command) keptCalls(ctx context.Context, r archive.Recording, id string, words []string) ([]debugbackend.Call, error) {
	chosen, err := c.choose(words)
	if err != nil {
		return nil, err
	}
	turns, err := r.Turns(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	if chosen.turn > len(turns) {
		return nil, fmt.Errorf("session %s has no turn %d: it has %s", plain.Line(id), chosen.turn, plain.Count(len(turns), "turn"))
	}
	if chosen.turn > 0 {
		turns = turns[chosen.turn-1 : chosen.turn]
	}
	return chosen.Of(archive.CallsOf(ctx, r, id, turns, c.console.Warn))
}
