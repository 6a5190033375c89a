package configs

import (
	"math"

	"gopkg.in/yaml.v3"
)

// aliasKeys are names that MassGen, or the services that it passes them to, have for keys of a backend.
func aliasKeys() []key[Backend] {
	maxTokens := optional(integer[int](1, math.MaxInt32), func(b *Backend) **int { return &b.Params.MaxTokens })
	return []key[Backend]{
		{"max_completion_tokens", maxTokens},
		{"max_output_tokens", maxTokens},
		{"stop_sequences", item[Backend]{read: (*reader).stop}},
		{"azure_endpoint", by((*reader).baseURL)},
		{"verbosity", enum(func(b *Backend) *string { return &b.Params.Verbosity }, "low", "medium", "high")},
		{"thinking", mapping(thinkingSection, func(b *Backend) *Backend { return b })},
	}
}

// thinkingSection is how Anthropic's API writes reasoning.budget_tokens.
func thinkingSection() section[Backend] {
	return section[Backend]{
		keys: []key[Backend]{
			{"budget_tokens", optional(integer[int](1, math.MaxInt32), func(b *Backend) **int { return &b.Params.ReasoningTokens })},
		},
		massgen: []massgenKeys{{fate: accepted, names: "type"}},
	}
}

// massgenToolKeys are keys of MassGen about an agent's tools.
func massgenToolKeys() []key[Agent] {
	return append(massgens(key[Agent]{"exclude_file_operation_mcps", value(boolean(), func(a *Agent) *bool { return &a.Tools.NoFileTools })}),
		key[Agent]{"permissions", by(readAgentPermissions)},
		key[Agent]{"custom_tools", item[Agent]{
			read: readCustomTools, show: func(a *Agent) string { return joined(a.Tools.Custom, " ") },
			shape: func() shape { return listShape(shapeOf(customToolSection())) },
		}})
}

// readAgentPermissions reads MassGen's permissions of one agent into a guard.
func readAgentPermissions(r *reader, at string, n *yaml.Node, a *Agent) {
	r.doc.massgen = true
	p := massgenPermissions{enabled: true, unattended: "risk-based"}
	if !readSection(r, at, n, massgenPermissionsSection(), &p) || !p.enabled || isOff(n) {
		return
	}
	guard, err := p.guard()
	if err != nil {
		r.doc.fail(n, "%s: %v; write permissions: at the top level", at, err)
		return
	}
	a.Tools.Guards = append(a.Tools.Guards, guard)
}
