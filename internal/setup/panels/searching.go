package panels

import (
	"context"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/providers"
)

type webSearchKey struct{}

// WithWebSearch returns a context for Start of a panel: in that turn each agent whose model can
// searches the web, also if its configuration does not say so.
func WithWebSearch(ctx context.Context) context.Context {
	return context.WithValue(ctx, webSearchKey{}, true)
}

// searching is how an agent is called in a turn that is to search the web.
type searching struct {
	params backends.Params
	mode   effect.ToolMode
}

// searching returns how an agent is called in such a turn; nil if its model cannot search.
func (p *Panel) searching(s Settings, agent int, m providers.Model) *searching {
	b := s.Config.Agents[agent].Backend
	b.Params.Hosted.WebSearch = true
	if !m.CanSearch || hasTools(s, agent) && m.CheckOwnTools(b.Params) != nil {
		return nil
	}
	return &searching{p.resolver.Bounded(m, b.Params), toolMode(m, b)}
}

// hasTools reports whether an agent has tools beside those of the coordination.
func hasTools(s Settings, agent int) bool {
	t := s.Config.Agents[agent].Tools
	given := s.Given != nil && len(s.Given(agent)) > 0
	return given || t.CWD != "" || len(t.ContextPaths) > 0 || len(t.Servers) > 0 || len(s.Config.Servers) > 0
}

// addSearching has turns of WithWebSearch search the web.
func addSearching(opts *coordinator.Options, all []*searching) {
	agents := opts.Agents
	opts.InTurn = func(ctx context.Context, agent int) (backends.Params, effect.ToolMode) {
		if isAsked, _ := ctx.Value(webSearchKey{}).(bool); isAsked && all[agent] != nil {
			return all[agent].params, all[agent].mode
		}
		return agents[agent].Params, agents[agent].ToolMode
	}
}
