package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
)

// modelsCommand shows what is known of models.
type modelsCommand struct {
	env     *cmdline.Env
	console *cmdline.Console
	log     *slog.Logger

	json bool
}

func (c *modelsCommand) cli() *cli.Command {
	return &cli.Command{
		Name: "models", Usage: "list models: sizes, prices, and what they take",
		UsageText: "  massgen models [--json]       of all types of backends\n" +
			"  massgen models [--json] TYPE  of one; massgen --list-backends has the types\n\n" +
			"Beside massgen's own table these are the models that a service lists, where\nthere is a key for it. Listing models is free.\n",
		BashComplete: func(ctx *cli.Context) { archive.CompleteFirst(providers.Types()...)(ctx) },
		Flags:        []cli.Flag{&cli.BoolFlag{Name: "json", Destination: &c.json, DisableDefaultText: true, Usage: "print one JSON object"}},
		Action:       c.run,
	}
}

func (c *modelsCommand) run(ctx *cli.Context) error {
	if ctx.NArg() > 1 {
		return errors.New("models: it takes one type at most")
	}
	r, err := resolverOf(c.env, c.console, c.log)
	if err != nil {
		return err
	}
	models, faults, err := r.Models(ctx.Context, ctx.Args().First())
	if err != nil {
		return fmt.Errorf("models: %w", err)
	}
	if len(models) == 0 && len(faults) > 0 {
		return errors.New("models: " + strings.Join(faults, "; "))
	}
	for _, fault := range faults {
		c.console.Warn(fault)
	}
	if c.json {
		data, err := json.Marshal(modelsJSON{Format: 1, AsOf: prices.Date, Models: models})
		if err != nil {
			return fmt.Errorf("models: %w", err)
		}
		return c.console.Put(string(data) + "\n")
	}
	return c.console.Put(modelsTable(models))
}

// modelsJSON is what massgen models --json prints.
type modelsJSON struct {
	Format int                    `json:"format"`
	AsOf   string                 `json:"as_of"`
	Models []providers.KnownModel `json:"models"`
}

func modelsTable(models []providers.KnownModel) string {
	rows := [][]string{{"TYPE", "MODEL", "CONTEXT", "OUTPUT", "IN $", "CACHED $", "OUT $", "TAKES", "HERE"}}
	for _, m := range models {
		here := ""
		if m.Listed != nil {
			here = map[bool]string{true: "yes", false: "not listed"}[*m.Listed]
		}
		takes := strings.Join(m.Takes, " ")
		if len(m.Efforts) > 0 {
			takes += ": " + strings.Join(m.Efforts, " ")
		}
		rows = append(rows, []string{
			m.Type, m.Name, size(m.ContextWindow), size(m.MaxOutput), inDollars(m.Input), inDollars(m.CachedInput), inDollars(m.Output), takes, here,
		})
	}
	return plain.Columns(rows) + "\nPrices are in US dollars per million tokens of a short call, sizes in tokens, as of " + prices.Date + ".\n"
}

// size is a number of tokens, "" if it is not known.
func size(n int) string {
	if n == 0 {
		return ""
	}
	return plain.Thousands(n)
}

// inDollars is an amount, "" if it is not known.
func inDollars(usd *float64) string {
	if usd == nil {
		return ""
	}
	return strconv.FormatFloat(*usd, 'f', -1, 64)
}

// resolverOf returns what knows the services, and which of them are here.
func resolverOf(env *cmdline.Env, c *cmdline.Console, log *slog.Logger) (*providers.Resolver, error) {
	return providers.New(providers.Settings{World: cmdline.NewWorld(env, c.Warn), Config: configs.Default(), Log: log, Secrets: c.Secrets}, nil, nil)
}
