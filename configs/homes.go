package configs

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// home is where some keys belong.
type home struct {
	where string
	// path is the keys above them.
	path        string
	names, also []string
	massgen     []massgenKeys
}

// homes are all sections, those first in which people look for a key first.
func homes() []home {
	return []home{
		homeOf("in orchestrator", "orchestrator", orchestratorSection()),
		homeOf("in timeout_settings", "timeout_settings", timeoutSection()),
		homeOf("in ui", "ui", uiSection()),
		homeOf("in context", "agents[].context", contextSection()),
		homeOf("in the context at the top level", "context", commonContextSection()),
		homeOf("in context.window", "context.window", windowSection()),
		homeOf("in context.warn_at", "context.warn_at", warnSection()),
		homeOf("in providers, under a backend type", "providers.TYPE", providerSection()),
		homeOf("in prices, under TYPE/MODEL", "prices.TYPE/MODEL", priceSection()),
		homeOf("in an agent's backend", "agents[].backend", agentBackendSection()),
		homeOf("in context_paths, beside a path", "orchestrator.context_paths[]", contextPathSection()),
		homeOf("in custom_tools, beside a path", "agents[].backend.custom_tools[]", customToolSection()),
		homeOf("in mcp_servers, under a server", "mcp_servers[]", serverSection()),
		homeOf("in an agent", "agents[]", agentSection()),
		homeOf("in orchestrator.coordination", "orchestrator.coordination", coordinationSection()),
		homeOf("in an agent's backend, under text", "agents[].backend.text", textSection()),
		homeOf("in topic", "topic", topicSection()),
		homeOf("in memory", "memory", memorySection(massgenMemory(&yaml.Node{Kind: yaml.MappingNode}))),
		homeOf("at the top level", "", topSection()),
		homeOf("in an agent's backend, under reasoning", "agents[].backend.reasoning", reasoningSection()),
		homeOf("in context.summarize", "context.summarize", summarizeSection()),
		homeOf("in budget", "budget", budgetSection()),
		homeOf("in permissions", "permissions", permissionsSection()),
		homeOf("in permissions.rules", "permissions.rules[]", permissionSection()),
	}
}

func homeOf[T any](where, path string, sec section[T]) home {
	return home{where, path, sec.names(), namesIn(sec.also), sec.massgen}
}

// whereIs says where a key that stands in the wrong place belongs.
func whereIs(name string) (string, bool) {
	for _, home := range homes() {
		if slices.Contains(home.names, name) {
			return home.where, true
		}
	}
	return "", false
}
