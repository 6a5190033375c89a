package panels

import (
	"context"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/providers"
)

type (
	webSearchKey struct{}
	seedsKey     struct{}
)

// seeds are those of WithSeeds.
type seeds struct {
	offset int64
	orders uint64
}

// WithWebSearch returns a context for Opened.Start. In that turn each agent whose model can search the
// web does so, whatever its configuration.
func WithWebSearch(ctx context.Context) context.Context {
	return context.WithValue(ctx, webSearchKey{}, true)
}

// WithSeeds returns a context for Opened.Start, so that repeated turns differ, and can be repeated. In that turn
// offset is added to the seed of each agent that has one, and orders is the seed of the orders and peers that the turn
// draws, unless the config has one.
func WithSeeds(ctx context.Context, offset int64, orders uint64) context.Context {
	return context.WithValue(ctx, seedsKey{}, seeds{offset, orders})
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

// addSearching makes turns with WithWebSearch search the web, and those with WithSeeds have other seeds.
func addSearching(opts *coordinator.Options, all []*searching) {
	agents := opts.Agents
	opts.InTurn = func(ctx context.Context, agent int) (backends.Params, effect.ToolMode) {
		params, mode := agents[agent].Params, agents[agent].ToolMode
		if isAsked, _ := ctx.Value(webSearchKey{}).(bool); isAsked && all[agent] != nil {
			params, mode = all[agent].params, all[agent].mode
		}
		if given, _ := ctx.Value(seedsKey{}).(seeds); params.Seed != nil {
			params.Seed = new(*params.Seed + given.offset)
		}
		return params, mode
	}
	opts.TurnSeed = func(ctx context.Context) (uint64, bool) {
		given, ok := ctx.Value(seedsKey{}).(seeds)
		return given.orders, ok
	}
}
