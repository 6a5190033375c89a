// Package serve offers panels to other programs: over HTTP, and over MCP.
package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
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
	host, port  string
	noReasoning bool
	logLevel    string
	access      accessFlags
}

func newCommand(p *program.Program) *command {
	return &command{env: p.Env, console: p.Console, watch: p.Watch, kept: p.Kept, panels: p.Panels, engines: p.Engines, session: &p.Options.Session, display: &p.Options.Display}
}

// Command returns the command serve.
func Command(p *program.Program) *cli.Command { return newCommand(p).cli() }

func (c *command) cli() *cli.Command {
	listen := cmdline.TextFlag("", "listen", &c.listen, "the `ADDRESS` to listen on")
	c.listen, listen.DefaultText = defaultListen, defaultListen
	return &cli.Command{
		Name: "serve", Usage: "offer panels over HTTP, in the form of OpenAI's API",
		UsageText: "massgen serve [--config FILE ...] [--listen ADDRESS]\n\nEach config is a model, named like its file without the ending, and so is each\nof its agents: CONFIG/AGENT. The server runs until it is interrupted.",
		Flags: slices.Concat([]cli.Flag{
			listen,
			cmdline.TextFlag("", "host", &c.host, "listen on this `HOST`, with the port of --port or --listen"),
			cmdline.TextFlag("", "port", &c.port, "listen on this `PORT`, with the host of --host or --listen"),
			cmdline.SwitchFlag("", "no-reasoning", &c.noReasoning, "send the answer alone, without what the agents say to each other"),
		}, c.access.flags(), c.panelFlags(), cmdline.EngineFlags(c.env.Cluster, c.engines.Flags, c.session), c.drainFlags()),
		Action: c.run,
	}
}

// drainFlags returns the flag for the end of a server of several machines.
func (c *command) drainFlags() []cli.Flag {
	if c.env.Cluster == nil {
		return nil
	}
	return []cli.Flag{c.engines.Flags.DrainFlag("when told to end, let turns go on for which a request waits, for at most `TIME` (such as 30m), and with --engine local all other turns; 5m for the former without this flag; a second signal ends at once")}
}

// panelFlags returns the flags for the panels, the store and the log.
func (c *command) panelFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "config", Value: &c.configs, Usage: "a panel to offer: `FILE`, or @examples/NAME; may be given several times", DefaultText: "as for a question"},
		cmdline.TextFlag("", "state-dir", &c.session.StateDir, "keep sessions in `DIR`"),
		cmdline.SwitchFlag("", "trust", &c.session.Trust, cmdline.TrustUsage),
		cmdline.LevelFlag(&c.logLevel),
		c.display.FormatFlag(""),
		cmdline.SwitchFlag("", "debug", &c.display.Debug, "the same as --log-level debug"),
	}
}

// place sets the address from --host and --port, MassGen's flags for it.
func (c *command) place() error {
	if c.host == "" && c.port == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(c.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	c.listen = net.JoinHostPort(cmp.Or(c.host, host), cmp.Or(c.port, port))
	return nil
}

func (c *command) run(ctx *cli.Context) error {
	if err := c.place(); err != nil {
		return err
	}
	access, err := c.access.read(c.env.Lookup, c.console.Secrets)
	if err != nil {
		return err
	}
	asks := &server.Permissions{}
	if ctx.NArg() > 0 {
		return errors.New("serve: it takes no question")
	}
	c.session.Waits, c.engines.Flags.Waits = true, true
	served, now, stop := c.watch.Contexts(ctx.Context)
	defer stop()
	listen := func(ctx context.Context, log *slog.Logger) (*server.Entrance, error) {
		l, err := c.open(ctx, access)
		if err != nil {
			return nil, err
		}
		return server.NewEntrance(l, log), nil
	}
	return c.with(served, asks, listen, func(ctx context.Context, s server.Settings, entrance *server.Entrance) error {
		s.Access, s.Limits, s.Permissions = access, c.access.limits, asks
		if drain := c.engines.Flags.Drain; c.env.Cluster != nil {
			s.Drain = server.Drain{Longest: drain.Longest, All: drain.IsGiven && !s.PlayedElsewhere, Now: now}
			defer context.AfterFunc(served, func() {
				c.console.Say("massgen: this server begins no more turns, and those that a request waits for may go on for %v: a second signal ends it at once", drain.Longest)
			})()
		}
		if len(access.Tokens) == 0 {
			s.Access.PageKey = rand.Text()
		}
		handler := server.New(s)
		entrance.Admit(handler) // before the line below, after which clients ask
		c.console.Say("massgen: listening on http://%s/v1 for %s", entrance.Addr(), plain.List(ids(slices.DeleteFunc(slices.Clone(s.Models), func(m server.Model) bool { return m.Preset != "" }))))
		if len(access.Tokens) == 0 {
			c.console.Say("massgen: the web page is http://%s/#key=%s", entrance.Addr(), s.Access.PageKey)
		}
		return handler.ServeAt(ctx, entrance)
	})
}

// Beside starts the page of a server beside the run of a question. The returned function ends it. A server that
// cannot start costs a warning.
func Beside(ctx context.Context, p *program.Program) (stop func()) {
	c := newCommand(p)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.beside(ctx, p.Options); err != nil && ctx.Err() == nil {
			c.console.Warn("--web: there is no page: " + err.Error())
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (c *command) beside(ctx context.Context, o cmdline.Options) (err error) {
	if c.listen, err = o.Logs.ListenAddress(); err != nil {
		return err
	}
	if o.Panel.Config != "" {
		c.configs = cmdline.Texts{o.Panel.Config}
	}
	c.logLevel = "error"
	access, err := c.access.read(c.env.Lookup, c.console.Secrets)
	if err != nil {
		return err
	}
	return c.with(ctx, nil, nil, func(ctx context.Context, s server.Settings, _ *server.Entrance) error {
		l, err := c.open(ctx, access)
		if err != nil {
			return err
		}
		s.Access, s.Limits = access, c.access.limits
		c.console.Say("massgen: the page is at http://%s/", l.Addr())
		return server.New(s).Serve(ctx, l)
	})
}

// with calls serve with the settings of a server of the configs' models. asks is asked about tool
// calls; nil where nobody answers. listen opens the entrance for a server that may have to wait for the database and
// the engine; nil for none.
func (c *command) with(
	ctx context.Context, asks *server.Permissions, listen func(context.Context, *slog.Logger) (*server.Entrance, error),
	serve func(context.Context, server.Settings, *server.Entrance) error,
) (err error) {
	log, err := cmdline.ServiceLog(c.env, c.console, c.display, c.logLevel)
	if err != nil {
		return err
	}
	if _, isSet := c.env.Lookup("GOGC"); !isSet {
		// Hundreds of streams allocate fast, and each collection delays all of them: fewer are worth
		// some hundred KiB a stream.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	registry := metrics.New()
	registry.Process(cmdline.Version())
	monitor := health.New(log, registry)
	c.engines.Metrics, c.engines.Health, c.engines.Log = registry, monitor, log
	o := &offer{metrics: registry, console: c.console, world: cmdline.NewWorld(c.env, c.console.Warn), log: log, asks: asks}
	o.world.HideKeys(c.console.Secrets)
	if o.exporter = program.NewExporter(c.env, c.console); o.exporter != nil {
		defer o.exporter.Close()
	}
	files := []string(c.configs)
	if len(files) == 0 {
		files = []string{c.panels.Own()}
	}
	// What no wait mends is found before the first one.
	loaded, err := o.load(files)
	if err != nil {
		return err
	}
	isRemote := c.env.Cluster != nil && c.engines.Flags.Engine != cmdline.LocalEngine
	if isRemote {
		if _, err := c.engines.Address(); err != nil {
			return err
		}
	}
	var entrance *server.Entrance
	if listen != nil {
		if entrance, err = listen(ctx, log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, entrance.Close()) }()
	}
	c.session.IsBusy = true
	if c.kept.Database() != "" {
		entrance.Awaits("the database")
	}
	if o.store, err = c.kept.Open(ctx, archive.ToAsk); err != nil {
		return unlessEnded(ctx, err)
	}
	defer func() { err = errors.Join(err, o.store.Close()) }()
	if c.kept.Database() != "" {
		c.env.Cluster.Measure(registry)
	}
	if isRemote {
		entrance.Awaits("Temporal")
	}
	if o.engine, err = c.engines.Connect(ctx, c.kept.Database()); err != nil {
		return unlessEnded(ctx, err)
	}
	if o.engine != nil {
		defer func() { err = errors.Join(err, o.engine.Connection.Close()) }()
	}
	models, err := o.models(files, loaded)
	if err != nil {
		return err
	}
	return serve(ctx, server.Settings{
		Models: models, Store: o.store.Sessions, CheckRoom: o.store.CheckRoom, Redact: c.console.Secrets.Redact, Log: log, Metrics: registry, Health: monitor, NoReasoning: c.noReasoning, PlayedElsewhere: o.engine != nil,
		Version: cmdline.Version(),
	}, entrance)
}

// unlessEnded returns the error of a wait, nil if the wait was told to end: so a server ends that serves.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && (sessions.IsAway(err) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// open listens. An address that other machines can reach needs tokens.
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

// MCP returns the command mcp, which offers panels to one program, over standard input and output.
func MCP(p *program.Program) *cli.Command {
	c := newCommand(p)
	return &cli.Command{
		Name: "mcp", Usage: "offer panels to coding agents as tools (MCP)",
		UsageText: "massgen mcp [--config FILE ...]\n\nA coding agent starts this command and speaks with it over standard input and\noutput: docs/mcp_server.md says how to add it to one. It ends with its input.",
		Flags:     slices.Concat(c.panelFlags(), cmdline.EngineFlags(c.env.Cluster, c.engines.Flags, c.session)),
		Action: func(flags *cli.Context) error {
			if flags.NArg() > 0 {
				return errors.New("mcp: it takes no question")
			}
			ctx, stop := c.watch.Context(flags.Context)
			defer stop()
			return c.with(ctx, nil, nil, func(ctx context.Context, s server.Settings, _ *server.Entrance) error {
				return server.New(s).ServeMCP(ctx, c.env.Stdin, c.console.Out)
			})
		},
	}
}
