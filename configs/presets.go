package configs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// preset is a shipped preset: a mapping of keys of the orchestrator.
type preset struct{ name, orchestrator string }

// shippedPresets returns the presets of every config, in their order.
func shippedPresets() []preset {
	return []preset{
		{"council", `{strategy: consensus}`},
		{"blind", `{strategy: blind}`},
		{"fusion", `{strategy: judge, final: synthesize, straggler_factor: 3}`},
		{"pick", `{strategy: judge, final: select, straggler_factor: 3}`},
		{"quick", `{strategy: cascade, cascade: [[first], all], agree: verdict, then: judge, final: select, straggler_factor: 3}`},
	}
}

// layers are the settings of the orchestrator before a strategy is put into the rules, and the
// presets that may be laid over them.
type layers struct {
	raw   *Orchestrator // nil for a config that was not read
	given map[string]bool
	// presets are those of the file, by name.
	presets   map[string]*yaml.Node
	hasSchema bool
	opts      Options
}

// presets reads the presets, each a mapping of keys of the orchestrator. They are checked when all
// agents are known.
func (r *reader) presets(at string, n *yaml.Node, c *Config) {
	for _, e := range r.doc.entries(at, n) {
		name := e.key.Value
		r.doc.places[join(at, name)] = e.key
		if !presetName(name) {
			r.doc.fail(e.key, "%s: the name of a preset has letters, digits, '_' and '-', 40 characters at most", join(at, name))
			continue
		}
		c.layers.presets[name] = e.value
	}
}

func presetName(name string) bool { return serverName.MatchString(name) }

// checkPresets checks each preset of the file.
func (k *checker) checkPresets() {
	for _, name := range slices.Sorted(maps.Keys(k.config.layers.presets)) {
		if _, err := k.config.WithPreset(name, ""); err != nil {
			n := k.places["presets."+name]
			var issue Issue
			if errors.As(err, &issue) && issue.Line > 0 {
				n = &yaml.Node{Line: issue.Line, Column: issue.Column}
				err = errors.New(issue.Message)
			}
			k.fail(n, "presets.%s: %s", name, err)
		}
	}
}

// Presets returns the names of the presets of the file and of the shipped ones that can be laid over
// the config: the shipped ones first, then the others by name.
func (c *Config) Presets() []string {
	var names []string
	for _, p := range shippedPresets() {
		names = append(names, p.name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.layers.presets)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		_, err := c.WithPreset(name, "")
		return err != nil || len(c.Agents) < 2
	})
}

// StrategyName returns how a turn is decided, such as "cascade, then judge".
func (c *Config) StrategyName() string {
	rules := c.Orchestrator.Rules
	name := cmp.Or(rules.Strategy(), string(kernel.Consensus))
	switch {
	case len(rules.Stages) > 0:
		name += ", then " + string(rules.Decider)
	case rules.Final == kernel.SynthesizeByJudge:
		name += ", synthesize"
	}
	return name
}

// WithPreset returns the config with a preset laid over its orchestrator, and a strategy over that;
// either may be "". Keys of a lower layer that mean nothing then are dropped, and are in Dropped.
func (c *Config) WithPreset(name, strategy string) (*Config, error) {
	if name == "" && strategy == "" {
		return c, nil
	}
	with := new(*c)
	plan := with.plan(&with.Orchestrator)
	if c.layers.raw != nil {
		with.Orchestrator = *c.layers.raw
	}
	plan.given = maps.Clone(c.layers.given)
	lower := maps.Clone(c.layers.given)
	place := func(key string) string { return "presets." + name + "." + key }
	var d *document
	if name != "" {
		given, err := plan.lay(c, name)
		if err != nil {
			return nil, err
		}
		d = given
		for key := range d.givenIn("presets." + name) {
			plan.given[key] = true
			delete(lower, key)
		}
	}
	if strategy != "" {
		if !slices.Contains(strategies(), strategy) {
			return nil, fmt.Errorf("there is no strategy %s; there are %s", quoted(strategy), strings.Join(strategies(), ", "))
		}
		maps.Copy(lower, plan.given)
		delete(lower, "strategy")
		if plan.Strategy = strategy; strategy == kernel.Cascade && len(plan.Stages) == 0 {
			plan.Stages = firstStages(plan.ids)
		}
		plan.given["strategy"] = true
	}
	dropped, key, fault := plan.drop(lower)
	if fault != "" {
		if d != nil && d.places[place(key)] != nil {
			return nil, d.issue(d.places[place(key)], "%s", fault)
		}
		return nil, errors.New(fault)
	}
	with.Dropped = nil
	for _, issue := range dropped {
		of := c.places["orchestrator."+issue.key]
		of.File, of.Message = cmp.Or(of.File, c.File), issue.message
		with.Dropped = append(with.Dropped, of)
	}
	sortIssues(with.Dropped)
	plan.resolve()
	return with, nil
}

// lay lays a preset over the orchestrator, and returns the document with the places of its keys.
func (p *strategyPlan) lay(c *Config, name string) (*document, error) {
	d := &document{file: c.File, places: map[string]*yaml.Node{}}
	node := c.layers.presets[name]
	for _, shipped := range shippedPresets() {
		if node == nil && shipped.name == name {
			var doc yaml.Node
			if err := yaml.Unmarshal([]byte(shipped.orchestrator), &doc); err != nil {
				return nil, fmt.Errorf("preset %s: %w", name, err)
			}
			node, d.file = doc.Content[0], "preset "+name
		}
	}
	if node == nil {
		return nil, fmt.Errorf("there is no preset %s; there are %s", quoted(name), strings.Join(c.Presets(), ", "))
	}
	r := &reader{doc: d, opts: c.layers.opts, secrets: c.secrets, contexts: map[string]*yaml.Node{}}
	readSection(r, "presets."+name, node, orchestratorSection(), p.Orchestrator)
	if len(d.issues) > 0 {
		return nil, d.refusal()
	}
	if d.file != c.File && slices.ContainsFunc(p.Stages, func(s []string) bool { return len(s) == 1 && s[0] == firstAgents }) {
		p.Stages = firstStages(p.ids)
		if len(p.ids) < 3 {
			return nil, fmt.Errorf("preset %s needs at least three agents", name)
		}
	}
	return d, nil
}

// firstAgents stands for the first two agents in a shipped preset.
const firstAgents = "first"

func firstStages(ids []string) [][]string {
	return [][]string{slices.Clone(ids[:min(2, len(ids))]), {allAgents}}
}

// droppedKey is a key that means nothing, with a sentence about it.
type droppedKey struct{ key, message string }

// drop resets the keys of lower layers that mean nothing, and returns them. If a key of the top layer
// is at fault, it returns that.
func (p *strategyPlan) drop(lower map[string]bool) (dropped []droppedKey, key, fault string) {
	standard := &Default().Orchestrator
	for _, rule := range strategyRules() {
		if !p.given[rule.key] {
			continue
		}
		fault := rule.fault(p)
		switch {
		case fault == "":
		case !lower[rule.key]:
			return dropped, rule.key, fault
		default:
			rule.reset(p.Orchestrator, standard)
			delete(p.given, rule.key)
			dropped = append(dropped, droppedKey{rule.key, "dropped: " + fault})
		}
	}
	return dropped, "", ""
}

// WithPattern returns the config with another answer_pattern.
func (c *Config) WithPattern(pattern string) *Config {
	with, of := new(*c), new(*c.layers)
	with.Orchestrator.AnswerPattern = pattern
	if of.raw != nil {
		of.raw = new(*of.raw)
		of.raw.AnswerPattern = pattern
	}
	of.given = maps.Clone(of.given)
	of.given["answer_pattern"] = true
	with.layers = of
	return with
}
