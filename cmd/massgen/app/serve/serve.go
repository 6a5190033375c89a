package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// defaultListen is where a server listens: 8000 would be vLLM's.
const defaultListen = "127.0.0.1:8484"

// command offers panels over HTTP.
type command struct {
	env     *cmdline.Env
	console *cmdline.Console
	watch   *cmdline.Watch
	kept    *archive.Archive
	panels  *program.Panels
	engines *program.Engines
	session *cmdline.SessionFlags
	display *cmdline.DisplayFlags

	configs     cmdline.Texts
	listen      string
	noReasoning bool
	logLevel    string
	access      accessFlags

	log         *slog.Logger
	world       providers.World
	store       *store.Store
	engine      *program.Remote
	exporter    *telemetry.Exporter // nil for none
	permissions *server.Permissions // nil where nobody is asked
}

func newServer(p *program.Program) *command {
	return &command{env: p.Env, console: p.Console, watch: p.Watch, kept: p.Kept, panels: p.Panels, engines: p.Engines, session: &p.Options.Session, display: &p.Options.Display}
}

func Command(p *program.Program) *cli.Command { return newServer(p).cli() }

func (c *command) cli() *cli.Command {
	listen := cmdline.TextFlag("", "listen", &c.listen, "the `ADDRESS` to listen on")
	c.listen, listen.DefaultText = defaultListen, defaultListen
	return &cli.Command{
		Name: "serve", Usage: "offer panels over HTTP, in the form of OpenAI's API",
		UsageText: "massgen serve [--config FILE ...] [--listen ADDRESS]\n\nEach config is a model, named like its file without the ending, and so is each\nof its agents: CONFIG/AGENT. The server runs until it is interrupted.",
		Flags: slices.Concat([]cli.Flag{
			listen,
			cmdline.SwitchFlag("", "no-reasoning", &c.noReasoning, "send the answer alone, without what the agents say to each other"),
		}, c.access.flags(), c.panelFlags(), cmdline.EngineFlags(c.env.Cluster, c.engines.Flags, c.session)),
		Action: func(ctx *cli.Context) error { return c.run(ctx) },
	}
}

// panelFlags say which panels are offered, and how they work.
func (c *command) panelFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "config", Value: &c.configs, Usage: "a panel to offer: `FILE`, or @examples/NAME; may be given several times", DefaultText: "as for a question"},
		cmdline.TextFlag("", "state-dir", &c.session.StateDir, "keep sessions in `DIR`"),
		cmdline.SwitchFlag("", "trust", &c.session.Trust, cmdline.TrustUsage),
		cmdline.TextFlag("", "log-level", &c.logLevel, "log from `LEVEL` on: debug, info, warn or error (also LOG_LEVEL); info without it"),
		cmdline.SwitchFlag("", "debug", &c.display.Debug, "the same as --log-level debug"),
	}
}

func (c *command) run(ctx *cli.Context) error {
	access, err := c.access.read(c.env.Lookup, c.console.Secrets)
	if err != nil {
		return err
	}
	c.permissions = &server.Permissions{}
	return c.with(ctx, "serve", func(ctx context.Context, s server.Settings) error {
		l, err := c.open(ctx, access)
		if err != nil {
			return err
		}
		s.Access, s.Limits, s.Permissions = access, c.access.limits, c.permissions
		c.console.Say("massgen: listening on http://%s/v1 for %s", l.Addr(), plain.List(ids(s.Models)))
		return server.New(s).Serve(ctx, l)
	})
}

// serverLog logs to standard error from the level of the flag, of the environment, or info on:
// nobody sits before a server.
func (c *command) serverLog() (*slog.Logger, error) {
	name, text := "--log-level", c.logLevel
	if text == "" {
		name = "LOG_LEVEL"
		text, _ = c.env.Lookup(name)
	}
	level := slog.LevelInfo
	if text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("%s: %q is not debug, info, warn or error", name, wording.Shortened(plain.Line(text), 40))
		}
	}
	if c.display.Debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(c.console.Err, &slog.HandlerOptions{Level: level})), nil
}

// with calls serve with the settings of a server of the configs' models. An interrupt ends ctx.
func (c *command) with(flags *cli.Context, name string, serve func(context.Context, server.Settings) error) (err error) {
	ctx := flags.Context
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: it takes no question", name)
	}
	if c.log, err = c.serverLog(); err != nil {
		return err
	}
	if _, isSet := c.env.Lookup("GOGC"); !isSet {
		// Hundreds of streams allocate fast, and each collection delays all of them: fewer are worth
		// some hundred KiB a stream.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	c.world = cmdline.NewWorld(c.env, c.console.Warn)
	c.world.HideKeys(c.console.Secrets)
	if c.exporter = program.NewExporter(c.env, c.console); c.exporter != nil {
		defer c.exporter.Close()
	}
	if c.store, err = c.kept.Open(ctx, archive.ToAsk); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.store.Close()) }()
	if c.engine, err = c.engines.Connect(ctx, c.kept.Database()); err != nil {
		return err
	}
	if c.engine != nil {
		defer func() { err = errors.Join(err, c.engine.Connection.Close()) }()
	}
	models, err := c.models()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	interrupts := c.watch.Take()
	go func() {
		select {
		case <-interrupts:
			stop()
		case <-ctx.Done():
		}
	}()
	return serve(ctx, server.Settings{
		Models: models, Store: c.store, Redact: c.console.Secrets.Redact, Log: c.log, NoReasoning: c.noReasoning, PlayedElsewhere: c.engine != nil,
		Version: cmdline.Version(),
	})
}

// open listens. Beyond this machine only those are served who have a token.
func (c *command) open(ctx context.Context, access server.Access) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w; name another address, such as 127.0.0.1:0 for any port that is free", err)
	}
	if at, isTCP := l.Addr().(*net.TCPAddr); len(access.Tokens) > 0 || isTCP && at.IP.IsLoopback() {
		return l, nil
	}
	err = fmt.Errorf("--listen %s: other machines can reach this address: give --token-file, or set MASSGEN_TOKEN, and massgen asks each request for a token", plain.Line(c.listen))
	return nil, errors.Join(err, l.Close())
}

// models returns what the configs offer: each panel, and each agent of it alone unless workers play.
func (c *command) models() (models []server.Model, err error) {
	files := []string(c.configs)
	if len(files) == 0 {
		files = []string{c.panels.Own()}
	}
	for _, file := range files {
		config, err := c.world.LoadConfig(file, c.console.Secrets)
		if err != nil {
			return nil, err
		}
		if err := c.checkFolders(config); err != nil {
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
		models = append(models, server.Model{ID: name, Created: created, Agents: all, Open: c.opener(config), OpenFor: c.openerFor(config)})
		if len(config.Agents) == 1 || c.engine != nil { // no worker has a panel of one of the agents
			continue
		}
		for _, a := range config.Agents {
			alone := *config
			alone.Agents = []configs.Agent{a}
			models = append(models, server.Model{ID: name + "/" + a.ID, Created: created, Agents: []string{a.ID}, Open: c.opener(&alone), OpenFor: c.openerFor(&alone)})
		}
	}
	return models, nil
}

// changed is when a config was changed last; a shipped one never was.
func changed(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Unix(0, 0)
	}
	return info.ModTime()
}

// opener returns what opens the panel of a config. Where each session has one of its own, that is
// one without tools.
func (c *command) opener(config *configs.Config) func(ctx context.Context) (*massgen.Panel, error) {
	return func(ctx context.Context) (*massgen.Panel, error) {
		s := c.settings(config)
		s.OnlyLooks = c.openerFor(config) != nil
		return massgen.Load(ctx, config.File, program.Settled(s))
	}
}

// openerFor returns what opens a session's own panel of a config, nil for one whose agents have no
// folders, or are played by workers.
func (c *command) openerFor(config *configs.Config) func(ctx context.Context, session string) (*massgen.Panel, error) {
	if c.engine != nil || !hasFolders(config) {
		return nil
	}
	return func(ctx context.Context, session string) (*massgen.Panel, error) {
		return massgen.Load(ctx, config.File, program.Settled(c.settings(inFolders(config, session))))
	}
}

func (c *command) settings(config *configs.Config) panels.Settings {
	s := panels.Settings{
		World: c.world, Config: config, Store: c.store, Secrets: c.console.Secrets, Log: c.log, Listener: panels.Listener{Warn: c.console.Warn},
		Telemetry: c.exporter,
	}
	if c.permissions != nil {
		s.Approve = c.permissions.Ask
	}
	if c.engine != nil {
		s.Engine = c.engine.Remote
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
