package server

import (
	"context"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/setup/panels"
)

// withSearch returns the context of a turn. If the request asks for it, each agent whose model can
// search the web does so in the turn.
func (s *turns) withSearch(ctx context.Context, q request, panel *massgen.Panel) (context.Context, error) {
	switch {
	case q.search == "":
		return ctx, nil
	case s.playedElsewhere:
		return ctx, badRequest(q.search, q.search+": the turns of this server are played by workers, who search only as the configuration says")
	case !panel.CanSearch():
		return ctx, badRequest(q.search, q.search+": no agent of this model can search the web: leave it out, or ask a panel with a model that searches")
	}
	return panels.WithWebSearch(ctx), nil
}
