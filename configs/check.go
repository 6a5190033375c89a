package configs

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// checker looks at what several keys of a config say together, after all were read.
type checker struct {
	*document
	config     *Config
	agentPaths []string
}

// check also fills in what follows from other settings.
func (k *checker) check(root *yaml.Node) {
	k.checkContexts()
	k.checkPanel(root)
	k.callBackends()
	k.checkEfforts()
	k.checkSent()
	k.checkTools()
	k.checkContextPaths()
	k.checkFinalStep()
}

// checkPanel looks at what only the whole file shows.
func (k *checker) checkPanel(root *yaml.Node) {
	c := k.config
	agents, agent := k.places["agents"], k.places["agent"]
	switch {
	case agents != nil && agent != nil:
		k.fail(agent, "agent and agents are both given; keep agents for a list, or agent for a single one")
	case len(c.Agents) == 0 && len(k.issues) == 0:
		at := root
		if agents != nil {
			at = agents
		}
		k.fail(at, "there are no agents; add agents: with at least one entry, each with an id and a backend")
	}
	first := map[string]int{}
	for i, a := range c.Agents {
		id := strings.ToLower(a.ID)
		if id == "" {
			continue
		}
		if j, ok := first[id]; ok {
			k.fail(k.places[idPlace(i)], "two agents have the id %s (case does not count), first on line %d; rename one",
				a.ID, k.places[idPlace(j)].Line)
			continue
		}
		first[id] = i
	}
	if !c.Orchestrator.Rules.SelfVote && len(c.Agents) == 2 {
		k.fail(k.places["orchestrator.self_vote"],
			"self_vote: false with two agents leaves each only the other to vote for; add an agent, or allow self-votes")
	}
}

// checkEfforts refuses reasoning_effort and MassGen's way to write it side by side:
// the one that stands last would count.
func (k *checker) checkEfforts() {
	for path, key := range k.places {
		backend, ok := strings.CutSuffix(path, ".reasoning.effort")
		if plain := k.places[backend+".reasoning_effort"]; ok && plain != nil {
			k.fail(key, "%s is another word for reasoning_effort, on line %d; keep one", path, plain.Line)
		}
	}
}
