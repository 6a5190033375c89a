package program

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/storage/store"
)

// defaultConfig is the panel of a run without --config and without a config of the user.
const defaultConfig = "@examples/three_agents"

// Panels finds the panel that the flags ask for.
type Panels struct {
	env     *cmdline.Env
	console *cmdline.Console
	Flags   *cmdline.PanelFlags
	// Trust reports that the user trusts the config of the current folder.
	Trust *bool
}

// Load returns the config of the panel.
func (p *Panels) Load(world providers.World) (*configs.Config, error) {
	config, err := p.loadPlain(world)
	if err != nil {
		return nil, err
	}
	if config, err = config.WithPreset(p.Flags.Preset, p.Flags.Strategy); err != nil {
		return nil, fmt.Errorf("--%s: %w", strategyFlag(*p.Flags), err)
	}
	return config, nil
}

// strategyFlag returns the flag that an error about the strategy is about.
func strategyFlag(f cmdline.PanelFlags) string {
	if f.Strategy != "" {
		return "strategy"
	}
	return "preset"
}

// loadPlain returns the config without a preset and a strategy of the flags.
func (p *Panels) loadPlain(world providers.World) (*configs.Config, error) {
	if p.Flags.Describes() {
		return FlagsConfig(*p.Flags)
	}
	file := p.named(p.Flags.Config)
	if file == "" {
		file = p.Own()
	}
	world.HasSchema = p.Flags.Schema != nil
	return world.LoadConfig(file, p.console.Secrets)
}

// WorkIn sets the agents' working folders: dir for a single agent, a subfolder of dir for each of several.
func WorkIn(c *configs.Config, dir string) {
	if dir == "" {
		return
	}
	for i, a := range c.Agents {
		c.Agents[i].Tools.CWD = dir
		if len(c.Agents) > 1 {
			c.Agents[i].Tools.CWD = filepath.Join(dir, a.ID)
		}
	}
}

// FlagsConfig returns the panel that flags describe: one agent, or one for each of --models.
func FlagsConfig(o cmdline.PanelFlags) (*configs.Config, error) {
	c := configs.Default()
	if o.Models == "" {
		c.Agents = []configs.Agent{{ID: "agent1", Backend: configs.Backend{Type: o.Backend, Model: o.Model, BaseURL: o.BaseURL}}}
	} else {
		models := strings.Split(o.Models, ",")
		if slices.ContainsFunc(models, func(name string) bool { return strings.TrimSpace(name) == "" }) {
			return nil, fmt.Errorf("--models: %q names no model beside a comma: write models such as gpt-5-mini,claude/claude-opus-5", wording.Shortened(o.Models, 60))
		}
		c.Agents = providers.AgentsOf(models)
	}
	for i := range c.Agents {
		c.Agents[i].SystemMessage, c.Agents[i].Context = o.SystemMessage, c.Context
	}
	return c, nil
}

// named returns the path of the config that a user means by a name: that of a file, else one of the user's own
// below agents in the configuration folder.
func (p *Panels) named(name string) string {
	folder := store.ConfigFolder(p.env.Lookup)
	if _, err := os.Stat(name); err == nil || name == "" || folder == "" || strings.HasPrefix(name, "@") || !filepath.IsLocal(name) {
		return name
	}
	for _, ending := range []string{"", ".yaml", ".yml"} {
		file := filepath.Join(folder, "agents", name+ending)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return name
}

// Own returns the config of the current folder if the user trusts it, else the one in the user's configuration
// folder, else the default. It ignores a configuration folder that is not absolute: the current folder must not
// decide who is on the panel.
func (p *Panels) Own() string {
	if p.usesProject() {
		return store.ProjectConfig
	}
	folder := store.ConfigFolder(p.env.Lookup)
	if folder == "" {
		return defaultConfig
	}
	file := filepath.Join(folder, "config.yaml")
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		return file
	}
	return defaultConfig
}

// usesProject reports whether the current folder has a config that the user trusts. It warns of another.
func (p *Panels) usesProject() bool {
	if info, err := os.Lstat(store.ProjectConfig); err != nil || !info.Mode().IsRegular() {
		return false
	}
	if p.Trust != nil && *p.Trust {
		if err := store.TrustFile(p.env.Lookup, store.ProjectConfig); err != nil {
			p.console.Warn(err.Error())
		}
	}
	trusted, err := store.TrustsFile(p.env.Lookup, store.ProjectConfig)
	if err != nil || !trusted {
		p.console.Warn(fmt.Sprintf("%s is not used, since you have not trusted it as it is now, and a config may start programs: --trust uses it from now on, --config %s this once", store.ProjectConfig, store.ProjectConfig))
		return false
	}
	return true
}

// Look connects the panel without its tools. It passes to warn what the user has to know.
func (p *Panels) Look(ctx context.Context, store *store.Store, warn func(text string)) (*massgen.Panel, *configs.Config, error) {
	return p.LookIn(ctx, cmdline.NewWorld(p.env, warn), store, warn)
}

// LookIn is Look with keys and servers of another world.
func (p *Panels) LookIn(ctx context.Context, world providers.World, store *store.Store, warn func(text string)) (*massgen.Panel, *configs.Config, error) {
	config, err := p.Load(world)
	if err != nil {
		return nil, nil, err
	}
	world.HideKeys(p.console.Secrets)
	panel, err := massgen.Load(ctx, config.File, Settled(panels.Settings{
		Settings: providers.Settings{World: world, Config: config, Secrets: p.console.Secrets, Log: slog.New(slog.DiscardHandler)}, Store: store, OnlyLooks: true,
		Listener: panels.Listener{Warn: warn},
	}))
	return panel, config, err
}

// Settled returns the option that replaces all settings of a panel.
func Settled(s panels.Settings) massgen.Option {
	return func(of *panels.Settings) { *of = s }
}
