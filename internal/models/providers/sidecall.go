package providers

import (
	"context"
	"errors"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/prices"
)

// Sidecall is a model to which calls go that belong to no agent (DESIGN §1), by the same
// way as an agent's.
type Sidecall struct {
	Backend backends.Backend
	Model   string
	Params  backends.Params
	// Window is how many tokens the model can read, 0 if that is not known, and Counter
	// counts them.
	Window  int
	Counter prices.Counter
}

// Sidecalls are the models of a config's calls that belong to no agent, nil for calls that
// are not made.
type Sidecalls struct{ Summary, Topic, Facts *Sidecall }

// Fault is why something of a config cannot be connected: an agent, by its id, or a section
// that calls a model.
type Fault struct{ Of, Text string }

// Sidecalls connects the models of a config's calls that belong to no agent. own has the models that a program brings
// along, by the section of the config.
func (r *Resolver) Sidecalls(ctx context.Context, config *configs.Config, own map[string]backends.Backend) (Sidecalls, []Fault) {
	var all Sidecalls
	var failed []Fault
	for _, call := range []struct {
		section string
		made    bool
		tools   bool
		backend configs.Backend
		model   **Sidecall
	}{
		{"context.summarize", config.Summarizes(), false, config.Summary, &all.Summary},
		{"topic", config.Topic.Made, true, config.Topic.Backend, &all.Topic},
		{"memory", config.Memory.Made, true, config.Memory.Backend, &all.Facts},
	} {
		if !call.made {
			continue
		}
		if b := own[call.section]; b != nil {
			m := r.Own(call.backend.Model, b)
			*call.model = &Sidecall{Backend: m.Backend, Model: m.Name, Params: r.Bounded(m, call.backend.Params)}
			continue
		}
		made, faults := r.sidecall(ctx, call.backend, call.tools)
		for _, err := range faults {
			text := Placed(func(key string) string { return config.CallPlace(call.section, key) }, err)
			failed = append(failed, Fault{call.section, text})
		}
		*call.model = &made
	}
	return all, failed
}

// sidecall connects a model. With tools, a model that takes no tools is a fault.
func (r *Resolver) sidecall(ctx context.Context, b configs.Backend, tools bool) (Sidecall, []error) {
	if tools {
		b.ToolMode = string(effect.ToolsNative)
	}
	b.Params.Hosted = backends.HostedTools{}
	m, faults := r.resolve(ctx, b, false)
	if len(faults) > 0 {
		for i, err := range faults {
			faults[i] = withoutToolMode(err)
		}
		return Sidecall{}, faults
	}
	return Sidecall{
		Backend: m.Backend, Model: m.Name, Params: r.Bounded(m, b.Params), Window: m.Window, Counter: r.Counter(m),
	}, nil
}

// Counter counts the tokens that a model is sent.
func (r *Resolver) Counter(m Model) prices.Counter { return r.vocabularies.Counter(m.Provider, m.Name) }

// withoutToolMode rewords a fault for which tool_mode would be the cure, a key that
// these backends do not have.
func withoutToolMode(err error) error {
	var param *backends.ParamError
	if errors.As(err, &param) && param.Param == "tool_mode" {
		return errors.New("the model, or a fallback of it, takes no tools while it reasons, and this call needs one: name another model, or set api: responses, or reasoning_effort: none where it takes that")
	}
	return err
}
