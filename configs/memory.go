package configs

import "gopkg.in/yaml.v3"

func (r *reader) memory(at string, n *yaml.Node, c *Config) {
	readSection(r, at, n, memorySection(massgenMemory(n)), &c.Memory)
}

// massgenMemory returns the hint on MassGen's keys of the mapping n. It does not advise to
// switch on what is on already, or what MassGen has off.
func massgenMemory(n *yaml.Node) ignored {
	const (
		on        = "enabled"
		facts     = "persistent_memory"
		messages  = "conversation_memory"
		summaries = "compression"
		others    = "recording retrieval"
		unmatched = "its embedding, qdrant and vector_store have no counterpart"
	)
	disabled, extracts := false, false
	for _, e := range (&document{}).entries("", n) { // readSection reports what is wrong with n
		switch e.key.Value {
		case "enabled":
			disabled = isOff(e.value)
		case "extract":
			extracts, _ = boolean().parse(literal(e.value))
		}
	}
	hint := ignored{
		noCounterpart:                   others,
		"use context: at the top level": messages,
		"use context: {policy: summarize} at the top level": summaries,
	}
	switch {
	case disabled:
		return ignored{"": on + " " + facts + " " + messages + " " + summaries + " " + others}
	case extracts:
		hint[""] = on
		hint["its llm belongs in memory.backend; "+unmatched] = facts
	default:
		hint["use memory.extract: true"] = on
		hint["use memory.extract: true, and memory.backend for its llm; "+unmatched] = facts
	}
	return hint
}

func memorySection(massgens ignored) section[Sidecall] { return sidecallSection("extract", massgens) }
