package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/storage/store"
)

// defaultConfig is the panel of a run that names none.
const defaultConfig = "@examples/three_agents"

// panelSource finds the panel that the flags ask for.
type panelSource struct {
	env     *Env
	console *console
	flags   *panelFlags
}

// load returns the config of the panel.
func (p *panelSource) load(world providers.World) (*configs.Config, error) {
	if p.flags.describes() {
		return flagsConfig(*p.flags)
	}
	file := p.flags.config
	if file == "" {
		file = p.own()
	}
	return world.LoadConfig(file, p.console.secrets)
}

// workIn gives the agents of a config a folder to work in: one alone dir itself, others one in it.
func workIn(c *configs.Config, dir string) {
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

// flagsConfig is the panel that flags describe: one agent, or one for each of --models.
func flagsConfig(o panelFlags) (*configs.Config, error) {
	c := configs.Default()
	if o.models == "" {
		c.Agents = []configs.Agent{{ID: "agent1", Backend: configs.Backend{Type: o.backend, Model: o.model, BaseURL: o.baseURL}}}
	} else {
		models := strings.Split(o.models, ",")
		if slices.ContainsFunc(models, func(name string) bool { return strings.TrimSpace(name) == "" }) {
			return nil, fmt.Errorf("--models: %q names no model beside a comma: write models such as gpt-5-mini,claude/claude-opus-5", shortened(o.models, 60))
		}
		c.Agents = providers.AgentsOf(models)
	}
	for i := range c.Agents {
		c.Agents[i].SystemMessage, c.Agents[i].Context = o.systemMessage, c.Context
	}
	return c, nil
}

// own returns the config in the user's configuration folder, if there is one,
// else the default. A folder that is not absolute is none: the current folder
// shall not decide who is on the panel.
func (p *panelSource) own() string {
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

// look connects the panel without its tools. It passes to warn what the user has to know.
func (p *panelSource) look(ctx context.Context, store *store.Store, warn func(text string)) (*massgen.Panel, *configs.Config, error) {
	world := newWorld(p.env, warn)
	config, err := p.load(world)
	if err != nil {
		return nil, nil, err
	}
	world.HideKeys(p.console.secrets)
	panel, err := massgen.Load(ctx, config.File, settled(panels.Settings{
		World: world, Config: config, Store: store, Secrets: p.console.secrets, Log: slog.New(slog.DiscardHandler), OnlyLooks: true,
		Listener: panels.Listener{Warn: warn},
	}))
	return panel, config, err
}

// newWorld returns where keys and model servers are looked for: in the environment, and in the file .env of the
// current folder. It passes to warn a line about what it could not read in this file, if anything.
func newWorld(env *Env, warn func(text string)) providers.World {
	world := providers.NewWorld(env.Lookup)
	world.LocalServers, world.Slack = env.LocalServers, env.Slack
	if world.Unread != "" {
		warn(world.Unread)
		world.Unread = "" // a panel would tell it again
	}
	return world
}

// hideKeys masks the keys of the environment in what is shown. It does not warn of the file .env:
// who only looks needs no key.
func hideKeys(env *Env, c *console) {
	newWorld(env, func(string) {}).HideKeys(c.secrets)
}

// checkOutputFile proves, before anything is paid for, that the file can be
// written. It leaves the file as it is.
func checkOutputFile(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return fmt.Errorf("--output-file: %s is a pipe, and its reader may never come; > writes to it", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil && isNew {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("--output-file: %w; name a file that can be written", err)
	}
	return nil
}
