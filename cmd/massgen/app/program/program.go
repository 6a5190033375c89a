// Package program is one run of massgen: its panel, engine and store by the flags.
package program

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/system/logs"
	"github.com/massgen/massgen/internal/system/secrets"
)

// Flags returns the flags that the program and its worker take.
func (p *Program) Flags() []cli.Flag {
	return slices.Concat(p.Options.Flags(), cmdline.EngineFlags(p.Env.Cluster, &p.Options.Cluster, &p.Options.Session), p.Options.Cluster.DetachFlag(p.Env.Cluster))
}

// Program is one run of massgen.
type Program struct {
	Env     *cmdline.Env
	Console *cmdline.Console
	Options cmdline.Options
	Watch   *cmdline.Watch
	Log     *slog.Logger
	Kept    *archive.Archive
	Panels  *Panels
	Engines *Engines
}

// New returns a run without flags. Nobody watches its interrupts yet.
func New(env cmdline.Env) *Program {
	p := &Program{Env: &env, Console: cmdline.NewConsole(&env), Log: slog.New(slog.DiscardHandler), Watch: cmdline.Unwatched()}
	p.Kept = archive.New(p.Env, p.Console, &p.Options.Session, &p.Options.Display)
	p.Panels = &Panels{p.Env, p.Console, &p.Options.Panel, &p.Options.Session.Trust}
	p.Engines = &Engines{env: p.Env, console: p.Console, Flags: &p.Options.Cluster, log: p.Logger}
	return p
}

// Logger returns a log of the steps for --debug and LOG_LEVEL=debug, else one that discards.
func (p *Program) Logger() *slog.Logger {
	level, _ := p.Env.Lookup("LOG_LEVEL")
	if !p.Options.Display.Debug && !strings.EqualFold(level, "debug") {
		return p.Log
	}
	log, err := logs.New(p.Console.Err, p.Options.Display.LogFormat, slog.LevelDebug, p.Console.Secrets.Redact)
	if err != nil { // the flag has no other format
		return p.Log
	}
	return log
}

// NewExporter returns the exporter of traces and metrics, nil if the environment does not ask for it.
func NewExporter(env *cmdline.Env, c *cmdline.Console) *telemetry.Exporter {
	secret := func(name, value string) { c.Secrets.Add(secrets.InHeader(name, value)...) }
	e, err := telemetry.New(env.Lookup, cmdline.Version(), c.Secrets.Redact, secret, c.Warn)
	if err != nil {
		c.Warn(err.Error() + ": no telemetry is sent")
	}
	return e
}
