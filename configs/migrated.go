package configs

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// Migrated returns the text of a config of MassGen with the settings that keep MassGen's way here:
// orchestrator.final_answer_strategy: winner_present, unless it says what becomes of the winning answer. The rest, with its comments,
// stays as it is.
func (c *Config) Migrated() (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(c.Text), &doc); err != nil {
		return "", errors.New(yamlReason(err))
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return "", errors.New("it has no settings")
	}
	root := doc.Content[0]
	orchestrator := valueOf(root, "orchestrator")
	if orchestrator == nil {
		orchestrator = emptyMapping()
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "orchestrator"}, orchestrator)
	}
	if isNull(orchestrator) {
		*orchestrator = *emptyMapping()
	}
	if valueOf(orchestrator, "final_answer_strategy") == nil && c.Orchestrator.SkipPresentation == nil {
		orchestrator.Content = append(orchestrator.Content,
			&yaml.Node{Kind: yaml.ScalarNode, Value: "final_answer_strategy"},
			&yaml.Node{Kind: yaml.ScalarNode, Value: "winner_present", LineComment: "# the winner presents the answer, as in MassGen"})
	}
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return "", fmt.Errorf("write the config: %w", err)
	}
	return b.String(), nil
}
