package configs

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/coordination/policy"
)

// Summarizes reports whether there are agents whose policy is summarize.
func (c *Config) Summarizes() bool {
	return slices.ContainsFunc(c.Agents, func(a Agent) bool { return a.Context.Kind == policy.Summarize })
}

// callBackend reads the backend of a sidecall.
func (r *reader) callBackend(at string, n *yaml.Node, b *Backend) {
	if readSection(r, at, n, callBackendSection(), b) && !isNull(n) && !namesModel(*b) {
		r.doc.fail(n, "%s names no model; add a type, such as auto, or a model, or leave it out to mean the first agent's", at)
	}
}

// namesModel reports whether a backend names a type or a model.
func namesModel(b Backend) bool { return b.Type != "" || b.Model != "" }

// callBackends sets the missing backends of sidecalls to the first agent's. If that agent has
// tool_mode json, a sidecall that needs a tool call must have its own backend.
func (k *checker) callBackends() {
	c := k.config
	if len(c.Agents) == 0 {
		return
	}
	first := c.Agents[0]
	for at, call := range map[string]Sidecall{"topic.detect": c.Topic, "memory.extract": c.Memory} {
		if call.Made && !namesModel(call.Backend) && first.Backend.ToolMode == "json" {
			k.fail(k.places[at], "%s needs a model that calls tools, and tool_mode json says that %s's does not; give it a backend of its own", at, first.ID)
		}
	}
	for _, b := range []*Backend{&c.Summary, &c.Topic.Backend, &c.Memory.Backend} {
		if !namesModel(*b) {
			*b = first.Backend
			b.ToolMode = ""
		}
	}
}
