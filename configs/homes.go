package configs

import "slices"

// home is where some keys belong.
type home struct {
	where             string
	names             []string
	ignored, cosmetic ignored
}

// homes are all sections, those first in which people look for a key first.
func homes() []home {
	return []home{
		homeOf("in orchestrator", orchestratorSection()),
		homeOf("in timeout_settings", timeoutSection()),
		homeOf("in ui", uiSection()),
		homeOf("in context", contextSection()),
		homeOf("in the context at the top level", commonContextSection()),
		homeOf("in context.window", windowSection()),
		homeOf("in context.warn_at", warnSection()),
		homeOf("in providers, under a backend type", providerSection()),
		homeOf("in prices, under TYPE/MODEL", priceSection()),
		homeOf("in an agent's backend", agentBackendSection()),
		homeOf("in context_paths, beside a path", contextPathSection()),
		homeOf("in mcp_servers, under a server", serverSection()),
		homeOf("in an agent", agentSection()),
		homeOf("in topic", topicSection()),
		homeOf("in memory", memorySection(nil)),
		homeOf("at the top level", topSection()),
		homeOf("in an agent's backend, under reasoning", reasoningSection()),
		homeOf("in context.summarize", summarizeSection()),
		homeOf("in budget", budgetSection()),
		homeOf("in permissions", permissionsSection()),
		homeOf("in permissions.rules", permissionSection()),
	}
}

func homeOf[T any](where string, sec section[T]) home {
	return home{where, sec.names(), sec.ignored, sec.cosmetic}
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
