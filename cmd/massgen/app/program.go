package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
)

// program is one run of massgen.
type program struct {
	env     *Env
	console *console
	options options
	watch   *watch
	log     *slog.Logger
	kept    *storage
	panels  *panelSource
	engines *engineSource
}

func newProgram(env Env) *program {
	p := &program{env: &env, console: newConsole(&env), log: slog.New(slog.DiscardHandler), watch: unwatched()}
	p.kept = newStorage(p.env, p.console, &p.options.session, &p.options.display)
	p.panels = &panelSource{p.env, p.console, &p.options.panel}
	p.engines = &engineSource{p.env, p.console, &p.options.cluster, p.logger}
	return p
}

// root is what massgen does when no command is named.
func root(ctx context.Context, p *program, words []string) error {
	o := p.options.about
	switch {
	case o.listExamples:
		return listExamples(p.console)
	case o.listBackends:
		return listBackends(ctx, p, words)
	case o.example != "":
		return printExample(p.console, o.example)
	case o.validate != "":
		return validate(ctx, p, o.validate)
	}
	return converse(ctx, p, words)
}

// logger logs the steps for --debug and LOG_LEVEL=debug, else nothing.
func (p *program) logger() *slog.Logger {
	level, _ := p.env.Lookup("LOG_LEVEL")
	if !p.options.display.debug && !strings.EqualFold(level, "debug") {
		return p.log
	}
	return slog.New(slog.NewTextHandler(p.console.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func listExamples(c *console) error {
	var b strings.Builder
	for _, e := range configs.Examples() {
		fmt.Fprintf(&b, "@examples/%-24s%s\n", e.Name, e.Summary)
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

func printExample(c *console, name string) error {
	data, ok := configs.ReadExample(strings.TrimPrefix(name, "@examples/"))
	if !ok {
		return fmt.Errorf("--example: there is no %s: --list-examples shows what there is", name)
	}
	_, err := c.out.Write(data)
	return err
}

// listBackends prints the table of providers and marks those that work on this machine. Given
// a type, it prints that type's details. It prints no key.
func listBackends(ctx context.Context, p *program, words []string) error {
	r, err := resolverOf(p.env, p.console, p.log)
	if err != nil {
		return err
	}
	var text string
	switch len(words) {
	case 0:
		text = r.Table(ctx)
	case 1:
		text, err = r.Details(ctx, words[0])
	default:
		err = errors.New("--list-backends: it takes one type at most")
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.console.out, text)
	return err
}

// resolverOf returns what knows the services, and which of them are here.
func resolverOf(env *Env, c *console, log *slog.Logger) (*providers.Resolver, error) {
	return providers.New(providers.Settings{World: newWorld(env, c.warn), Config: configs.Default(), Log: log, Secrets: c.secrets})
}
