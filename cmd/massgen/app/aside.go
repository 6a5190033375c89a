package app

import (
	"context"
	"errors"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/tokens"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/contextbuild/policy"
	"github.com/massgen/massgen/coordinator"
)

// helper is a model to which calls go that belong to no agent (DESIGN §1), by the same
// way as an agent's.
type helper struct {
	backend backends.Backend
	model   string
	params  backends.Params
	// window is how many tokens the model can read, 0 if that is not known, and counter
	// counts them.
	window  int
	counter tokens.Counter
}

// helpers are those of a config, nil for calls that are not made.
type helpers struct{ summary, topic, facts *helper }

// helpers connects the models of a config's calls that belong to no agent. The faults
// have the sections of the config in place of agents.
func (r *resolver) helpers(ctx context.Context, config *configs.Config) (helpers, []coordinator.FailedAgent) {
	var all helpers
	var failed []coordinator.FailedAgent
	for _, call := range []struct {
		section string
		made    bool
		tools   bool
		backend configs.Backend
		helper  **helper
	}{
		{"context.summarize", config.Summarizes(), false, config.Summary, &all.summary},
		{"topic", config.Topic.Detect, true, config.Topic.Backend, &all.topic},
		{"memory", config.Memory.Extract, true, config.Memory.Backend, &all.facts},
	} {
		if !call.made {
			continue
		}
		made, faults := r.helper(ctx, call.backend, call.tools)
		for _, err := range faults {
			text := placed(func(key string) string { return config.CallPlace(call.section, key) }, err)
			failed = append(failed, coordinator.FailedAgent{Agent: call.section, Error: text})
		}
		*call.helper = &made
	}
	return all, failed
}

// helper connects a model. With tools, one that takes none is a fault.
func (r *resolver) helper(ctx context.Context, b configs.Backend, tools bool) (helper, []error) {
	if tools {
		b.ToolMode = string(machine.ToolsNative)
	}
	m, faults := r.resolve(ctx, b)
	if len(faults) > 0 {
		for i, err := range faults {
			faults[i] = withoutToolMode(err)
		}
		return helper{}, faults
	}
	c := r.context(m, policy.Settings{})
	return helper{backend: m.backend, model: m.model, params: r.bounded(m, b.Params), window: c.Window, counter: c.Counter}, nil
}

// withoutToolMode rewords a fault for which tool_mode would be the cure, a key that
// these backends do not have.
func withoutToolMode(err error) error {
	var param *backends.ParamError
	if errors.As(err, &param) && param.Param == "tool_mode" {
		return errors.New("the model, or a fallback of it, takes no tools while it reasons, and this call needs one: name another model, or set reasoning_effort: none where it takes that")
	}
	return err
}
