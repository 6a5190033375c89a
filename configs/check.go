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
	isRead := len(k.issues) == 0
	k.checkContexts()
	k.checkPanel(root)
	k.checkSimulated()
	k.callBackends()
	k.checkEfforts()
	k.checkSent()
	k.checkTools()
	k.checkContextPaths()
	k.checkMassGenWays()
	k.checkFinalStep()
	k.layer()
	if isRead {
		k.checkStrategy()
	}
	if len(k.issues) == 0 {
		k.config.plan(&k.config.Orchestrator).resolve()
		k.checkPresets()
	}
}

// layer keeps the orchestrator's settings as they are given, for presets that are laid over them.
func (k *checker) layer() {
	l := k.config.layers
	l.raw = new(k.config.Orchestrator)
	l.given = k.givenIn("orchestrator")
}

// givenIn returns the keys of a mapping that have a value.
func (d *document) givenIn(at string) map[string]bool {
	names := map[string]bool{}
	for path, is := range d.given {
		if name, ok := strings.CutPrefix(path, at+"."); ok && is && !strings.Contains(name, ".") {
			names[name] = true
		}
	}
	return names
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
