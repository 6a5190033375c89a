package configs

import "gopkg.in/yaml.v3"

func (r *reader) memory(at string, n *yaml.Node, c *Config) {
	readSection(r, at, n, memorySection(massgenMemory(n)), &c.Memory)
}

// massgenMemory returns MassGen's keys of the mapping n, with their hints. It does not advise to
// switch on what is on already, or what MassGen has off.
func massgenMemory(n *yaml.Node) []massgenKeys {
	const unmatched = "its embedding, qdrant and vector_store have no counterpart"
	disabled, extracts := false, false
	for _, e := range (&document{}).entries("", n) { // readSection reports what is wrong with n
		switch e.key.Value {
		case "enabled":
			disabled = isOff(e.value)
		case "extract":
			extracts, _ = boolean().parse(literal(e.value))
		}
	}
	if disabled {
		return []massgenKeys{{fate: accepted, names: "enabled persistent_memory conversation_memory compression recording retrieval"}}
	}
	keys := []massgenKeys{
		{fate: warned, names: "recording retrieval", hint: noCounterpart},
		{fate: warned, names: "conversation_memory", hint: "use context: at the top level"},
		{fate: warned, names: "compression", hint: "use context: {policy: summarize} at the top level"},
	}
	if extracts {
		return append(keys,
			massgenKeys{fate: accepted, names: "enabled"},
			massgenKeys{fate: warned, names: "persistent_memory", hint: "its llm belongs in memory.backend; " + unmatched})
	}
	return append(keys,
		massgenKeys{fate: warned, names: "enabled", hint: "use memory.extract: true"},
		massgenKeys{fate: warned, names: "persistent_memory", hint: "use memory.extract: true, and memory.backend for its llm; " + unmatched})
}

func memorySection(massgens []massgenKeys) section[Sidecall] {
	return sidecallSection("extract", massgens)
}
