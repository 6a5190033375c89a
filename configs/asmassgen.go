package configs

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// This file has keys that only MassGen has, and that work as there.

// massgens marks a file that has one of some keys as one of MassGen.
func massgens[T any](keys ...key[T]) []key[T] {
	for i, k := range keys {
		keys[i].read = func(r *reader, at string, n *yaml.Node, t *T) {
			r.doc.massgen = true
			k.read(r, at, n, t)
		}
	}
	return keys
}

func massgenTopKeys() []key[Config] {
	return massgens(
		key[Config]{"prompt", text(func(c *Config) *string { return &c.Prompt })},
		key[Config]{"session_id", text(func(c *Config) *string { return &c.SessionID })},
	)
}

func massgenAgentKeys() []key[Agent] {
	return massgens(key[Agent]{"voting_sensitivity", sensitivity(func(a *Agent) *string { return &a.VotingSensitivity })})
}

func massgenOrchestratorKeys() []key[Orchestrator] {
	return massgens(
		key[Orchestrator]{"voting_sensitivity", sensitivity(func(o *Orchestrator) *string { return &o.VotingSensitivity })},
		key[Orchestrator]{"voting_threshold", value(integer[int](0, 100), func(o *Orchestrator) *int { return &o.VotingThreshold })},
		key[Orchestrator]{"fairness_enabled", optional(boolean(), func(o *Orchestrator) **bool { return &o.Fair })},
		key[Orchestrator]{"fairness_lead_cap_answers", optional(integer[int](1, 1000), func(o *Orchestrator) **int { return &o.LeadCap })},
		key[Orchestrator]{"max_orchestration_restarts", restarts()},
		key[Orchestrator]{"skip_final_presentation", optional(boolean(), func(o *Orchestrator) **bool { return &o.SkipPresentation })},
	)
}

func massgenCoordinationKeys() []key[Orchestrator] {
	return massgens(key[Orchestrator]{"max_orchestration_restarts", restarts()}, key[Orchestrator]{"planning_mode_instruction", text(func(o *Orchestrator) *string { return &o.PlanningInstruction })})
}

func restarts() item[Orchestrator] {
	return value(integer[int](0, 100), func(o *Orchestrator) *int { return &o.Rules.MaxRestarts })
}

// sensitivity reads how critical agents are before they vote. Values without a section of their own act as
// another one.
func sensitivity[T any](field func(*T) *string) item[T] {
	all := strings.Fields(`lenient balanced strict roi roi_conservative roi_balanced roi_aggressive sequential adversarial consistency
		diversity reflective checklist checklist_scored checklist_gated`)
	i := enum(field, all...)
	read := i.read
	i.read = func(r *reader, at string, n *yaml.Node, t *T) {
		*field(t) = ""
		read(r, at, n, t)
		switch of := *field(t); {
		case of == "" || slices.Contains(all[:3], of):
		case strings.HasPrefix(of, "checklist"):
			r.doc.warn(n, "%s: %s acts as strict: there is no tool for a checklist here", at, of)
		default:
			r.doc.warn(n, "%s: %s acts as balanced", at, of)
		}
	}
	return i
}

// leadCap is MassGen's limit of an agent's lead unless the file names one.
const leadCap = 2

// checkMassGenWays puts the options of MassGen into the rules.
func (k *checker) checkMassGenWays() {
	o := &k.config.Orchestrator
	switch {
	case o.Fair != nil && !*o.Fair:
	case o.LeadCap != nil:
		o.Rules.LeadCap = *o.LeadCap
	case o.Fair != nil:
		o.Rules.LeadCap = leadCap
	}
	if restarts := cmp.Or(k.places["orchestrator.max_orchestration_restarts"], k.places["orchestrator.coordination.max_orchestration_restarts"]); len(k.config.Agents) == 1 && o.Rules.MaxRestarts > 0 {
		k.warn(restarts, "max_orchestration_restarts has no effect with one agent: nobody reviews its answer")
	}
	if o.SkipPresentation != nil && !*o.SkipPresentation && k.places["orchestrator.final_answer_strategy"] == nil {
		o.Rules.Final = kernel.WinnerPresent
	}
}

// Hint returns what a user of MassGen should know of the file although nothing in it is wrong, empty for nothing.
func (c *Config) Hint() string {
	_, isNamed := c.places["orchestrator.final_answer_strategy"]
	if !c.MassGen || isNamed || c.Orchestrator.SkipPresentation != nil || len(c.Agents) < 2 || c.Orchestrator.Rules.Final != kernel.WinnerReuse {
		return ""
	}
	return "the winning answer is the result word for word; in MassGen the winner presents it: final_answer_strategy: winner_present in orchestrator does so here, and massgen config migrate writes it"
}
