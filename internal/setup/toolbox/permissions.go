package toolbox

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/tools/permission"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// runCommand is the tool of a workspace that runs commands.
const runCommand = "run_command"

// Permit gives the agents of a panel the rules of a config about their tools. If asks is true,
// a person may be asked about a call, here or in a process that watches the turn. A question
// that was put before a kill may return in a process that can ask nobody. Calls that the person
// has granted need no question.
func Permit(opts *coordinator.Options, config *configs.Config, granted *permission.Grants, asks bool) error {
	p := config.Permissions
	opts.Unattended = p.Unattended == permission.Allow
	rules := rulesOf(config)
	if err := rules.Check(); err != nil {
		return fmt.Errorf("permissions: %w", err)
	}
	for i := range opts.Agents {
		of := rules
		of.Look = lookFor(config, i)
		opts.Agents[i].Permit = permit(of, config.Agents[i].Tools.Guards, p.Unattended, granted, asks)
		if config.Orchestrator.PlanningMode {
			opts.Agents[i].Plan = func(tool agents.Tool, arguments string) (string, bool) { return permission.Planning(tool, arguments) }
		}
	}
	return nil
}

// rulesOf returns the rules of a config, with rules for commands and functions in Python if no fence confines
// them.
func rulesOf(config *configs.Config) permission.Rules {
	rules := config.Permissions.Rules
	if fenced, _ := workspace.CanFence(); !fenced {
		rules.Rules = append(slices.Clip(rules.Rules), unfencedRules()...)
	}
	return rules
}

// unfencedRules returns the rules for what runs without a fence. The strictest rule that fits holds, so no other
// rule lets it run silently.
func unfencedRules() []permission.Rule {
	return []permission.Rule{{Action: permission.Ask, Tool: runCommand}, {Action: permission.Ask, Tool: configs.CustomToolPrefix + "*"}}
}

// permit decides about a call by rules and the guards of an agent. Unless asks is true, unattended replaces
// asking; empty means no.
func permit(rules permission.Rules, guards []configs.Guard, unattended permission.Action, granted *permission.Grants, asks bool) func(tool, arguments string) (effect.Permission, string) {
	unattended = cmp.Or(unattended, permission.Deny)
	decide := guarded(decider(rules), guards, rules.Look, asks)
	return func(tool, arguments string) (effect.Permission, string) {
		d := decide(tool, arguments)
		if d.Action == permission.Ask {
			if why, ok := granted.Allow(tool, arguments); ok {
				return effect.Allowed, d.Reason + "; " + why
			}
		}
		if !asks {
			d = d.Unattended(unattended)
		}
		switch d.Action {
		case permission.Ask:
			return effect.Asked, d.Reason
		case permission.Deny:
			return effect.Denied, d.Reason
		}
		return effect.Allowed, d.Reason
	}
}

// guarded returns a function that makes the strictest decision of decide and the guards.
func guarded(decide func(tool, arguments string) permission.Ruling, guards []configs.Guard, look permission.Look, asks bool) func(tool, arguments string) permission.Ruling {
	for _, g := range guards {
		before, rules := decide, g.Rules
		rules.Look = look
		if !asks {
			rules.Otherwise = cmp.Or(g.Unattended, rules.Otherwise)
		}
		tools := permission.Rule{Action: permission.Deny, Tool: cmp.Or(g.Tool, "*")}
		decide = func(tool, arguments string) permission.Ruling {
			d := before(tool, arguments)
			if tools.About(tool) {
				d = permission.Stricter(d, permission.Decide(rules, tool, arguments))
			}
			return d
		}
	}
	return decide
}

// decider returns a function that decides by rules. A call is decided twice, when the model makes
// it and before it runs. Without files only the call and the rules count, so the function keeps its
// last decision until the call is decided again.
func decider(rules permission.Rules) func(tool, arguments string) permission.Ruling {
	decide := func(tool, arguments string) permission.Ruling { return permission.Decide(rules, tool, arguments) }
	if rules.Look != nil {
		return decide
	}
	type decided struct {
		tool, arguments string
		permission.Ruling
	}
	var last atomic.Pointer[decided]
	return func(tool, arguments string) permission.Ruling {
		if d := last.Swap(nil); d != nil && d.tool == tool && d.arguments == arguments {
			return d.Ruling
		}
		d := &decided{tool, arguments, decide(tool, arguments)}
		last.Store(d)
		return d.Ruling
	}
}
