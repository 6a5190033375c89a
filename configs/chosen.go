package configs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"
)

// Chosen returns the YAML of a part of the config, with its comments: of the agent alone, if it is not empty, or of all
// agents with a preset laid over the orchestrator, and then keys such as strategy. Both may be empty. Keys that mean
// nothing there are left out.
func (c *Config) Chosen(agent, preset string, keys map[string]string) ([]byte, error) {
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
	if agent != "" {
		err = c.keepAgent(root, agent)
	} else {
		err = c.keepDeciding(root, preset, keys)
	}
	if err != nil {
		return nil, err
	}
	untagMerges(&doc)
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
func (c *Config) keepDeciding(root *yaml.Node, preset string, keys map[string]string) error {
	from := c
	if pattern := keys["answer_pattern"]; pattern != "" {
		from = c.WithPattern(pattern)
	}
	with, err := from.WithPreset(preset, keys["strategy"])
	if err != nil {
		return err
	}
	given := map[string]*yaml.Node{}
	if preset != "" {
		for _, e := range pairs(c.presetNode(preset)) {
			given[e[0].Value] = unaliased(e[1])
			if e[0].Value == "cascade" {
				given[e[0].Value] = stagesNode(with.Orchestrator.Stages)
			}
		}
	}
	for key, value := range keys {
		given[key] = textNode(value)
	}
	section := valueOf(root, "orchestrator")
	if section == nil || section.Kind != yaml.MappingNode {
		removeKey(root, "orchestrator")
		section = &yaml.Node{Kind: yaml.MappingNode}
		root.Content = append(root.Content, textNode("orchestrator"), section)
	}
	plan := with.plan(&with.Orchestrator)
	plan.Final = keys["final"]
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

// untagMerges removes the tags of merge keys, which would be written out.
func untagMerges(n *yaml.Node) {
	if n.Tag == "!!merge" {
		n.Tag = ""
	}
	for _, child := range n.Content {
		untagMerges(child)
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
