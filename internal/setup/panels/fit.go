package panels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
)

// fitted connects an agent to its model, and returns the parameters of its calls. MassGen sends or drops what
// a model does not take; so a config of MassGen loses such parameters, with a warning, where other configs
// get an error.
func (p *Opened) fitted(ctx context.Context, s Settings, agent int) (providers.Model, backends.Params, []error) {
	b := s.Config.Agents[agent].Backend
	place := func(key string) string { return s.Config.BackendPlace(agent, key) }
	for {
		m, faults := p.model(ctx, s, agent, b)
		if len(faults) == 0 && hasTools(s, agent) {
			if err := m.CheckOwnTools(b.Params); err != nil {
				faults = append(faults, err)
			}
		}
		var param *backends.ParamError
		if len(faults) != 1 || !s.Config.MassGen || !errors.As(faults[0], &param) || !leaveOut(&b.Params, param.Param) {
			return m, b.Params, faults
		}
		p.notice(s, strings.TrimSuffix(providers.Placed(place, faults[0]), ": leave it out")+", and is left out")
	}
}

// guidance returns what an agent is told beside the coordination text: when to vote, and what planning means.
func guidance(c *configs.Config, agent int) string {
	o := c.Orchestrator
	sections := []string{contextbuild.VotingGuidance(cmp.Or(c.Agents[agent].VotingSensitivity, o.VotingSensitivity), o.VotingThreshold)}
	if o.PlanningMode {
		sections = append(sections, strings.TrimSpace(o.PlanningInstruction))
	}
	return strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n\n")
}

// leaveOut removes a parameter that MassGen sends or drops. It returns false if it is another, or not there.
func leaveOut(params *backends.Params, key string) bool {
	before := *params
	switch key {
	case "temperature":
		params.Temperature = nil
		return before.Temperature != nil
	case "top_p":
		params.TopP = nil
		return before.TopP != nil
	case "reasoning_effort":
		params.ReasoningEffort = ""
		return before.ReasoningEffort != ""
	case "summary":
		params.ReasoningSummary = ""
		return before.ReasoningSummary != ""
	case "budget_tokens":
		params.ReasoningTokens = nil
		return before.ReasoningTokens != nil
	case "verbosity":
		params.Verbosity = ""
		return before.Verbosity != ""
	case "seed":
		params.Seed = nil
		return before.Seed != nil
	case "stop":
		params.Stop = nil
		return before.Stop != nil
	}
	searches := params.Hosted.WebSearch && params.Hosted.Key(backends.WebSearch) == key
	params.Hosted.WebSearch = params.Hosted.WebSearch && !searches
	return searches
}

// checkPrograms returns an error if an agent is a program of others, which this program does not run.
func checkPrograms(c *configs.Config) error {
	of := map[string][]string{}
	var types []string
	for _, a := range c.Agents {
		if a.Backend.Program() != "" {
			if of[a.Backend.Type] == nil {
				types = append(types, a.Backend.Type)
			}
			of[a.Backend.Type] = append(of[a.Backend.Type], a.ID)
		}
	}
	if len(types) == 0 {
		return nil
	}
	typ := types[0]
	return fmt.Errorf("%s: type %s is a program that is not run here: %s (docs/migration.md)",
		plain.List(of[typ]), typ, configs.Backend{Type: typ}.Program())
}
