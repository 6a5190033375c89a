package talk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
)

// setModel shows the agents' models, or has an agent ask another one from the next question on.
// Neither the config nor what the session remembers of its panel changes.
func (d *dialogue) setModel(argument string) error {
	words := strings.Fields(argument)
	agents := d.s.asked.config.Agents
	switch {
	case len(words) == 0:
		rows := [][]string{{"AGENT", "MODEL"}}
		for i, m := range d.s.asked.panel.Models() {
			rows = append(rows, []string{agents[i].ID, m.String()})
		}
		d.show(rows)
		return nil
	case len(words) == 1 && len(agents) == 1:
		words = []string{agents[0].ID, words[0]}
	case len(words) != 2:
		return errors.New("/model: say whose model, and which: /model AGENT MODEL")
	}
	at := slices.IndexFunc(agents, func(a configs.Agent) bool { return a.ID == words[0] })
	if at < 0 {
		var ids []string
		for _, a := range agents {
			ids = append(ids, a.ID)
		}
		return fmt.Errorf("/model: there is no agent %s: the agents are %s", wording.Shortened(plain.Line(words[0]), 40), plain.List(ids))
	}
	before := d.s.asked.panel.Models()[at].String()
	if err := d.takeModel(at, words[1]); err != nil {
		return fmt.Errorf("/model: %w", err)
	}
	d.s.console.Say("%s asks %s from the next question on, and no longer %s, until massgen ends. The config stays as it is.",
		plain.Line(words[0]), d.s.asked.panel.Models()[at], before)
	return nil
}

// takeModel replaces the panel by one in which an agent asks another model. After an error the
// panel is as it was.
func (d *dialogue) takeModel(agent int, model string) error {
	s := d.s
	config := *s.asked.config
	config.Agents = slices.Clone(config.Agents)
	config.Agents[agent].Backend = withModel(config.Agents[agent].Backend, model)
	other, err := s.connect(context.Background(), &config, s.asked.known)
	if err != nil {
		return err
	}
	left := s.asked
	s.asked = other
	if err := left.close(); err != nil {
		s.console.Warn(err.Error())
	}
	return nil
}

// withModel returns a backend that asks another model. A model whose name says whose it is is
// asked there, as with --model, and without the headers for another service. Any other
// model is asked at the same service.
func withModel(b configs.Backend, model string) configs.Backend {
	of := providers.TypeOfModel(model)
	isOpen := b.Type == "" || b.Type == providers.Auto || b.Type == providers.Demo
	if b.BaseURL != "" || of == b.Type || of == "" && !isOpen {
		b.Model = model
		return b
	}
	params := b.Params
	params.Headers, params.ExtraBody = nil, nil
	return configs.Backend{Model: model, ToolMode: b.ToolMode, Params: params}
}

// knownModels are the names of models that the table of prices has.
func knownModels() []string {
	table, err := prices.New(nil)
	if err != nil {
		return nil // without names nothing is completed
	}
	return table.Names("")
}

// listTools shows the tools of each agent, where they come from, and whether they may run.
func (d *dialogue) listTools(string) error {
	if d.s.engine != nil {
		return errors.New("/tools: the tools are where the turns are played, and not here")
	}
	rows := [][]string{{"AGENT", "TOOL", "FROM", "PERMISSION"}}
	for i, list := range d.s.asked.panel.Tools() {
		for _, t := range list {
			rows = append(rows, []string{d.s.asked.config.Agents[i].ID, plain.Line(t.Name), plain.Line(t.From), plain.Line(t.Rule)})
		}
	}
	if len(rows) == 1 {
		d.s.console.Say("No agent has tools but those to answer and to vote.")
		return nil
	}
	d.show(rows)
	if !d.s.kept.CanAsk() {
		d.s.console.Say("Nobody can be asked here: what is to be asked about is not run, unless permissions.unattended allows it.")
	}
	if d.s.asked.config.Orchestrator.PlanningMode {
		d.s.console.Say("In planning mode a tool that changes something runs only for the final answer.")
	}
	return nil
}
