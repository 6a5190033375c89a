package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// offer opens the panels that a server offers.
type offer struct {
	console  *cmdline.Console
	world    providers.World
	log      *slog.Logger
	metrics  *metrics.Registry
	store    *store.Store
	engine   *program.Remote     // nil for turns that are played here
	exporter *telemetry.Exporter // nil for none
	asks     *server.Permissions // nil where nobody is asked
}

// load reads the configs of files.
func (o *offer) load(files []string) (loaded []*configs.Config, err error) {
	for _, file := range files {
		config, err := o.world.LoadConfig(file, o.console.Secrets)
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, config)
	}
	return loaded, nil
}

// models returns what the configs of files offer: each panel, the panel with each preset, and each of its agents alone
// unless workers play.
func (o *offer) models(files []string, loaded []*configs.Config) (models []server.Model, err error) {
	for i, file := range files {
		config := loaded[i]
		if err := o.checkFolders(config); err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(strings.TrimPrefix(file, "@examples/")), filepath.Ext(file))
		if slices.Contains(ids(models), name) {
			return nil, fmt.Errorf("--config: two files are called %s: rename one", plain.Line(name))
		}
		created := changed(file)
		all := make([]string, len(config.Agents))
		for i, a := range config.Agents {
			all[i] = a.ID
		}
		models = append(models, server.Model{ID: name, Created: created, Agents: all, Open: o.opener(config), OpenFor: o.openerFor(config)})
		for _, preset := range config.Presets() {
			with, err := config.WithPreset(preset, "")
			if err != nil {
				return nil, err
			}
			models = append(models, server.Model{
				ID: name + ":" + preset, Created: created, Agents: all, Panel: name, Preset: preset, Open: o.opener(with), OpenFor: o.openerFor(with),
			})
		}
		if len(config.Agents) == 1 || o.engine != nil { // no worker has a panel of one of the agents
			continue
		}
		for _, a := range config.Agents {
			alone := *config
			alone.Agents = []configs.Agent{a}
			models = append(models, server.Model{ID: name + "/" + a.ID, Created: created, Agents: []string{a.ID}, Open: o.opener(&alone), OpenFor: o.openerFor(&alone)})
		}
	}
	return models, nil
}

// changed returns when a config file was changed last, the beginning of 1970 for a shipped one.
func changed(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Unix(0, 0)
	}
	return info.ModTime()
}

// opener returns a function that opens the panel of a config. If each session has a panel of its own,
// this panel has no tools.
func (o *offer) opener(config *configs.Config) func(ctx context.Context) (*massgen.Panel, error) {
	return func(ctx context.Context) (*massgen.Panel, error) {
		s := o.settings(config)
		s.OnlyLooks = o.openerFor(config) != nil
		return massgen.Load(ctx, config.File, program.Settled(s))
	}
}

// openerFor returns a function that opens a session's own panel of a config. It returns nil if the agents
// have no folders, or if workers play the turns.
func (o *offer) openerFor(config *configs.Config) func(ctx context.Context, session string) (*massgen.Panel, error) {
	if o.engine != nil || !hasFolders(config) {
		return nil
	}
	return func(ctx context.Context, session string) (*massgen.Panel, error) {
		return massgen.Load(ctx, config.File, program.Settled(o.settings(inFolders(config, session))))
	}
}

func (o *offer) settings(config *configs.Config) panels.Settings {
	s := panels.Settings{
		Settings: providers.Settings{World: o.world, Config: config, Secrets: o.console.Secrets, Log: o.log, Metrics: o.metrics}, Store: o.store, Listener: panels.Listener{Warn: o.console.Warn},
		Telemetry: o.exporter,
	}
	if o.asks != nil {
		s.Approve = o.asks.Ask
	}
	if o.engine != nil {
		s.Engine = o.engine.Remote
	}
	return s
}

func ids(models []server.Model) []string {
	list := make([]string, len(models))
	for i, m := range models {
		list[i] = m.ID
	}
	return list
}

// hasFolders reports whether an agent of a config works in a folder.
func hasFolders(config *configs.Config) bool {
	return slices.ContainsFunc(config.Agents, func(a configs.Agent) bool { return a.Tools.CWD != "" })
}

// inFolders returns the config for one session: each agent works in a subfolder of its own folder that
// only the session uses.
func inFolders(config *configs.Config, session string) *configs.Config {
	own, name := *config, workspace.FolderName(session)
	own.Agents = slices.Clone(config.Agents)
	for i := range own.Agents {
		if t := &own.Agents[i].Tools; t.CWD != "" {
			t.CWD = filepath.Join(t.CWD, name)
		}
	}
	if dir := config.Orchestrator.AgentTemporaryWorkspace; dir != "" {
		own.Orchestrator.AgentTemporaryWorkspace = filepath.Join(dir, name)
	}
	return &own
}

// checkFolders refuses a config whose context_paths contain files of sessions: agents of one session
// could read those of another.
func (o *offer) checkFolders(config *configs.Config) error {
	kept := append(o.store.Files(), o.store.Snapshots, config.Orchestrator.SnapshotStorage, config.Orchestrator.AgentTemporaryWorkspace)
	for _, a := range config.Agents {
		kept = append(kept, a.Tools.CWD)
	}
	for i := range config.Agents {
		for _, p := range config.ContextPaths(i) {
			if at := slices.IndexFunc(kept, func(dir string) bool { return holds(p.Path, dir) }); at >= 0 {
				return fmt.Errorf("%s: context_paths: %s holds %s, where a server keeps what belongs to each session: agents of one could read those of others; name another folder", p.At, p.Path, kept[at])
			}
		}
	}
	if o.engine != nil && hasFolders(config) {
		o.console.Warn(config.File + ": workers play its turns, and have one folder for all sessions: clients see each other's files")
	}
	return nil
}

// holds reports whether a folder contains another, after all links are followed.
func holds(dir, other string) bool {
	if other == "" {
		return false
	}
	_, is := workspace.Inside(real(other), real(dir))
	return is
}

// real returns a path without links and dots, as far as the path exists.
func real(path string) string {
	at, err := filepath.Abs(path)
	if err != nil {
		return path // whoever opens it meets the fault
	}
	if found, err := filepath.EvalSymlinks(at); err == nil {
		return found
	}
	if parent := filepath.Dir(at); parent != at {
		return filepath.Join(real(parent), filepath.Base(at))
	}
	return at
}
