package providers

import (
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// checkHostedPrice refuses hosted tools of unknown price where money is limited.
func checkHostedPrice(r *Resolver, provider, model string, h backends.HostedTools) error {
	if !r.Config.Budget.Priced() {
		return nil
	}
	for _, tool := range h.Names() {
		if _, ok := r.prices.HostedFee(provider, model, tool); !ok {
			return backends.NewParamError(h.Key(tool), "max_usd needs to know what it costs with %s/%s, and no table has it: state it as %s of the model under the key prices", provider, model, tool)
		}
	}
	return nil
}

// checkHosted returns an error for hosted tools that do not go with the rest of a backend.
func checkHosted(model string, b configs.Backend) error {
	if effect.ToolMode(b.ToolMode) == effect.ToolsNative && gemini.SplitsTools(model, b.Params) {
		return backends.NewParamError("tool_mode", "%s takes no tools beside those that Google runs: leave it out, or take a model from 3 on", model)
	}
	return nil
}

// canSearch reports whether a model could search the web if it were asked to.
func canSearch(r *Resolver, p provider, c connection, b configs.Backend) bool {
	b.Params.Hosted.WebSearch = true
	return !p.isOffline() && checkParams(p, c, b) == nil && checkHostedPrice(r, p.name, c.model, b.Params.Hosted) == nil
}

// splitsTools reports whether a model takes hosted tools or others.
func splitsTools(p provider, model string) bool {
	_, isGoogle := p.protocol.(google)
	return isGoogle && gemini.SplitsTools(model, backends.Params{Hosted: backends.HostedTools{WebSearch: true}})
}

// SplitsTools reports whether the model, or one that stands in for it, takes hosted tools or others
// but not both: with hosted tools an agent has to be asked for JSON objects, and has no other tools.
func (m Model) SplitsTools(p backends.Params) bool { return m.splits && p.Hosted.Any() }

// CheckOwnTools returns a *backends.ParamError if an agent that has tools of its own cannot have the
// hosted tools of p beside them.
func (m Model) CheckOwnTools(p backends.Params) error {
	if !m.SplitsTools(p) {
		return nil
	}
	tool := p.Hosted.Names()[0]
	return fmt.Errorf("type %s: %w", m.Provider, backends.NewParamError(p.Hosted.Key(tool),
		"%s takes no other tools beside those that Google runs: leave out the agent's tools (cwd, context_paths, mcp_servers) or this key, or take a model from 3 on", m.Name))
}
