package app

import (
	"cmp"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/plain"
)

// presetsCommand lists the presets of a panel.
func presetsCommand(p *program.Program) *cli.Command {
	return &cli.Command{
		Name: "presets", Usage: "list the ways to decide: strategy, models and calls",
		UsageText: "  massgen presets [--config FILE] [--json]\n\n" +
			"massgen --preset NAME decides a turn so, and presets: in a config adds others.\n",
		Flags: []cli.Flag{
			cmdline.TextFlag(cmdline.Reference, "config", &p.Options.Panel.Config, "the panel: a YAML `FILE`, @examples/NAME or a shipped name"),
			cmdline.SwitchFlag(cmdline.Reference, "json", &p.Options.Display.JSON, "print one JSON object"),
		},
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() > 0 {
				return errors.New("presets: it takes no argument; --config FILE names a panel")
			}
			config, err := p.Panels.Load(cmdline.NewWorld(p.Env, p.Console.Warn))
			if err != nil {
				return err
			}
			return listPresets(p.Console, config, p.Options.Display.JSON)
		},
	}
}

// listedPreset is a preset as massgen presets --json prints it.
type listedPreset struct {
	Name     string            `json:"name"`
	Strategy string            `json:"strategy"`
	Models   []string          `json:"models"`
	Calls    configs.CallCount `json:"calls"`
}

func listPresets(out *cmdline.Console, config *configs.Config, asJSON bool) error {
	list := []listedPreset{}
	for _, name := range config.Presets() {
		with, err := config.WithPreset(name, "")
		if err != nil {
			return err
		}
		list = append(list, listedPreset{name, with.StrategyName(), modelsOf(with), with.Calls()})
	}
	if asJSON {
		return out.PutJSON(struct {
			Format  int            `json:"format"`
			Presets []listedPreset `json:"presets"`
		}{1, list})
	}
	rows := [][]string{{"PRESET", "STRATEGY", "MODELS", "CALLS"}}
	for _, p := range list {
		rows = append(rows, []string{p.Name, p.Strategy, strings.Join(p.Models, ", "), p.Calls.String()})
	}
	if len(list) == 0 {
		return out.Put("one agent has nothing to decide: presets need two agents or more\n")
	}
	return out.Put(plain.Columns(rows))
}

// modelsOf returns the models of a panel, each once, and that of its judge.
func modelsOf(c *configs.Config) []string {
	var names []string
	add := func(b configs.Backend) {
		name := cmp.Or(b.Type, "auto")
		if b.Model != "" {
			name = strings.TrimPrefix(b.Type+"/"+b.Model, "/")
		}
		for _, known := range names {
			if known == name {
				return
			}
		}
		names = append(names, name)
	}
	for _, a := range c.Agents {
		add(a.Backend)
	}
	if c.Orchestrator.Rules.Judge == kernel.JudgeID {
		add(c.Orchestrator.Judge.Backend)
	}
	return names
}
