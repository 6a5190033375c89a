package configs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"
)

// Choice is a part of a config: one of its agents alone, or all agents with another way to decide.
type Choice struct {
	// Agent is the id of the agent; empty for all.
	Agent string
	// Preset is laid over the orchestrator, and then Keys, such as strategy; both may be empty.
	Preset string
	Keys   map[string]string
	// Pattern is the answer_pattern; empty keeps that of the config.
	Pattern string
}

// Chosen returns the YAML of a part of the config, with its comments. Keys that mean nothing there are left
// out.
func (c *Config) Chosen(of Choice) ([]byte, error) {
	var doc yaml.Node
	if c.Text == "" {
		return nil, errors.New("the panel has no config file: write one, and compare with --config")
	}
	if err := yaml.Unmarshal([]byte(c.Text), &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", oneLine(c.File), err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s is no mapping", oneLine(c.File))
	}
	root := doc.Content[0]
	var err error
	if of.Agent != "" {
		err = c.keepAgent(root, of.Agent)
	} else {
		err = c.keepDeciding(root, of)
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(&doc), e.Close()); err != nil {
		return nil, err
	}
	if _, err := Parse(c.File, b.Bytes(), c.layers.opts); err != nil {
		return nil, fmt.Errorf("the config that was written is refused: %w", err)
	}
	return b.Bytes(), nil
}

// keepAgent leaves one agent in the config, which answers alone.
func (c *Config) keepAgent(root *yaml.Node, id string) error {
	list := valueOf(root, "agents")
	i := slices.IndexFunc(c.Agents, func(a Agent) bool { return a.ID == id })
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) != len(c.Agents) || i < 0 {
		return fmt.Errorf("%s has no list of agents with %s", oneLine(c.File), oneLine(id))
	}
	list.Content = []*yaml.Node{unaliased(list.Content[i])}
	removeKey(root, "orchestrator")
	removeKey(root, "presets")
	return nil
}

// keepDeciding sets how the agents decide.
func (c *Config) keepDeciding(root *yaml.Node, of Choice) error {
	with, err := c.WithPreset(of.Preset, of.Keys["strategy"])
	if err != nil {
		return err
	}
	given := map[string]*yaml.Node{}
	if of.Preset != "" {
		for _, e := range pairs(c.presetNode(of.Preset)) {
			given[e[0].Value] = unaliased(e[1])
			if e[0].Value == "cascade" {
				given[e[0].Value] = stagesNode(with.Orchestrator.Stages)
			}
		}
	}
	for key, value := range of.Keys {
		given[key] = textNode(value)
	}
	if of.Pattern != "" {
		given["answer_pattern"] = textNode(of.Pattern)
	}
	section := valueOf(root, "orchestrator")
	if section == nil || section.Kind != yaml.MappingNode {
		removeKey(root, "orchestrator")
		section = &yaml.Node{Kind: yaml.MappingNode}
		root.Content = append(root.Content, textNode("orchestrator"), section)
	}
	plan := with.plan(&with.Orchestrator)
	plan.Final = of.Keys["final"]
	for _, rule := range strategyRules() {
		if given[rule.key] == nil && plan.given[rule.key] && rule.fault(plan) != "" {
			removeKey(section, rule.key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		removeKey(section, key)
		section.Content = append(section.Content, textNode(key), given[key])
	}
	return nil
}

// presetNode returns the mapping of a preset, nil if there is none.
func (c *Config) presetNode(name string) *yaml.Node {
	if n := c.layers.presets[name]; n != nil {
		return deref(n)
	}
	for _, shipped := range shippedPresets() {
		var doc yaml.Node
		if shipped.name == name && yaml.Unmarshal([]byte(shipped.orchestrator), &doc) == nil {
			return doc.Content[0]
		}
	}
	return nil
}

func stagesNode(stages [][]string) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, stage := range stages {
		if len(stage) == 1 && stage[0] == allAgents {
			list.Content = append(list.Content, textNode(allAgents))
			continue
		}
		one := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, id := range stage {
			one.Content = append(one.Content, textNode(id))
		}
		list.Content = append(list.Content, one)
	}
	return list
}

func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// pairs returns the keys of a mapping with their values.
func pairs(n *yaml.Node) (list [][2]*yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		list = append(list, [2]*yaml.Node{n.Content[i], n.Content[i+1]})
	}
	return list
}

// valueOf returns the value of a key in a mapping, nil if there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for _, e := range pairs(n) {
		if e[0].Value == key {
			return deref(e[1])
		}
	}
	return nil
}

func removeKey(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// unaliased returns a copy of a node with the nodes that its aliases name, and without anchors.
func unaliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return unaliased(n.Alias)
	}
	own := *n
	own.Anchor, own.Content = "", nil
	for _, child := range n.Content {
		own.Content = append(own.Content, unaliased(child))
	}
	return &own
}
