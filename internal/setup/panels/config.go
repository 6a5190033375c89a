package panels

import (
	"cmp"
	"math"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/providers"
)

// toolMode is auto unless the configuration says otherwise: a model that cannot
// call tools is found out, and asked in another way. One that takes no tools beside
// hosted ones is asked so from the start.
func toolMode(m providers.Model, b configs.Backend) effect.ToolMode {
	if m.SplitsTools(b.Params) {
		return effect.ToolsJSON
	}
	return cmp.Or(effect.ToolMode(b.ToolMode), effect.ToolsAuto)
}

func limits(c *configs.Config) effect.Limits {
	o := c.Orchestrator
	l := effect.Limits{
		MaxTurns: o.MaxTurns, MaxAttempts: o.MaxAttempts, MaxToolCalls: o.MaxToolCalls, ResultLimit: o.MaxToolResultBytes,
		ToolLimit: int(o.ToolTimeout.Milliseconds()),
	}
	if share := o.AnswerNoveltyRequirement.MaxOverlap(); share < 1 {
		l.MaxOverlap = int(math.Round(share * 1000))
	}
	return l
}

// participants are the ids of the agents by the names that models know them by.
func participants(c *configs.Config) map[string]string {
	ids := make([]string, len(c.Agents))
	for i, a := range c.Agents {
		ids[i] = a.ID
	}
	return contextbuild.Participants(ids)
}
