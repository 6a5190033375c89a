package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/draw"
	"github.com/massgen/massgen/internal/coordination/election"
)

// Peers limits the answers that an agent is shown to its own and those of some peers (rule 19). The
// zero value shows all.
type Peers struct {
	// Ring shows the answers of the next so many agents in the config's order that have one.
	Ring int `json:"ring,omitempty"`
	// Random shows the answers of so many agents, drawn by Seed, Turn, the round and the agent.
	Random int    `json:"random,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	Turn   int    `json:"turn,omitempty"`
}

func (c Config) validatePeers() error {
	p := c.Peers
	if p == (Peers{}) {
		return nil
	}
	k, most := max(p.Ring, p.Random), len(c.Agents)-2
	switch {
	case p.Ring != 0 && p.Random != 0:
		return errors.New("peers: it is ring or random")
	case p.Ring < 0 || p.Random < 0 || k < 1 || k > most:
		return fmt.Errorf("peers: %d is not between 1 and %d, the number of agents less two", k, most)
	case c.Pace != PaceRounds:
		return errors.New("peers need pace: rounds")
	case c.Decider == ByValue || c.Decider == ByJudge || c.Decider == FirstAnswer:
		return fmt.Errorf("peers: nobody votes with strategy %s", c.Decider)
	case c.Decision == election.Ranked:
		return errors.New("peers: an agent cannot rank what it is not shown")
	}
	return nil
}

// shownTo returns the answers that an agent is shown, in the config's order.
func (m *Machine) shownTo(agent, round int) []Answer {
	all, p := m.current(), m.cfg.Peers
	if p == (Peers{}) {
		return all
	}
	at, hasOwn := slices.BinarySearchFunc(all, agent, func(a Answer, agent int) int { return cmp.Compare(a.Agent, agent) })
	shown := []Answer{}
	others := slices.Concat(all[at:], all[:at]) // from the agent on
	if hasOwn {
		shown, others = append(shown, others[0]), others[1:]
	}
	if k := min(p.Ring, len(others)); k > 0 {
		shown = append(shown, others[:k]...)
	}
	if p.Random > 0 {
		order := draw.Order(len(others), p.Seed, uint64(p.Turn), uint64(round), uint64(agent))
		for _, i := range order[:min(p.Random, len(order))] {
			shown = append(shown, others[i])
		}
	}
	slices.SortFunc(shown, func(a, b Answer) int { return cmp.Compare(a.Agent, b.Agent) })
	return shown
}
