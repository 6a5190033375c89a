package panels

import (
	"context"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/providers"
)

type webSearchKey struct{}

// WithWebSearch returns a context for Opened.Start. In that turn each agent whose model can search the
// web does so, whatever its configuration.
func WithWebSearch(ctx context.Context) context.Context {
	return context.WithValue(ctx, webSearchKey{}, true)
}

// searching has the parameters and the tool mode of an agent in a turn that searches the web.
type searching struct {
	params backends.Params
	mode   effect.ToolMode
}

// searching returns the searching of an agent; nil if its model cannot search.
func (p *Opened) searching(s Settings, agent int, m providers.Model, params backends.Params) *searching {
	b := s.Config.Agents[agent].Backend
	b.Params = params
	b.Params.Hosted.WebSearch = true
	if !m.CanSearch || hasTools(s, agent) && m.CheckOwnTools(b.Params) != nil {
		return nil
	}
	return &searching{p.resolver.Bounded(m, b.Params), toolMode(m, b)}
}

// hasTools reports whether an agent has tools beside answering and voting.
func hasTools(s Settings, agent int) bool {
	t := s.Config.Agents[agent].Tools
	given := s.Given != nil && len(s.Given(agent)) > 0
	return given || t.CWD != "" || len(t.ContextPaths) > 0 || len(t.Servers) > 0 || len(s.Config.Servers) > 0
}

// addSearching makes turns with WithWebSearch search the web.
func addSearching(opts *coordinator.Options, all []*searching) {
	agents := opts.Agents
	opts.InTurn = func(ctx context.Context, agent int) (backends.Params, effect.ToolMode) {
		if isAsked, _ := ctx.Value(webSearchKey{}).(bool); isAsked && all[agent] != nil {
			return all[agent].params, all[agent].mode
		}
		return agents[agent].Params, agents[agent].ToolMode
	}
}
