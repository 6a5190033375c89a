package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/system/plain"
)

// Config returns the command config, which looks at configs.
func Config(p *program.Program) *cli.Command {
	const form = "massgen config WORD ..."
	words := [][2]string{
		{"check FOLDER", "read each YAML file in FOLDER, and count what stands in the way; opens no connection"},
		{"keys", "list every key with its fate: works, accepted, warning or refused"},
		{"schema", "print the JSON Schema of configs, for editors"},
		{"migrate FILE", "print a config of MassGen with what keeps its way here"},
	}
	c := &cli.Command{
		Name: "config", Usage: "check, describe and migrate configs",
		UsageText: form + "\n\n" + strings.TrimRight(wording.TwoColumns(words), "\n"),
		Flags:     []cli.Flag{cmdline.SwitchFlag("", "json", &p.Options.Display.JSON, "print JSON")},
	}
	c.Action = func(ctx *cli.Context) error {
		given := ctx.Args().Slice()
		switch {
		case len(given) == 2 && given[0] == "check":
			return checkFolder(ctx.Context, p, given[1])
		case len(given) == 1 && given[0] == "keys":
			return putKeys(p)
		case len(given) == 1 && given[0] == "schema":
			return putSchema(p.Console)
		case len(given) == 2 && given[0] == "migrate":
			return migrate(p, given[1])
		}
		return errors.New("config: its forms are: massgen config check FOLDER, keys, schema, or migrate FILE; a question that begins with this word needs -- before it")
	}
	return c
}

// putKeys prints the table of keys.
func putKeys(p *program.Program) error {
	all := configs.Keys()
	if p.Options.Display.JSON {
		return p.Console.PutJSON(all)
	}
	var b strings.Builder
	for _, k := range all {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-10s%s  %s", k.Fate, k.Path, k.Note), " "))
	}
	return p.Console.Put(b.String())
}

func putSchema(out *cmdline.Console) error {
	data, err := configs.Schema()
	if err != nil {
		return err
	}
	var indented strings.Builder
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	e := json.NewEncoder(&indented)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return out.Put(indented.String())
}

// migrate prints a config with the settings that keep MassGen's way.
func migrate(p *program.Program, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("config migrate: %w", err)
	}
	world := assumedWorld(p.Env, map[string]bool{})
	config, err := world.ParseConfig(file, string(data), p.Console.Secrets)
	if err != nil {
		return err
	}
	for _, w := range config.Warnings {
		p.Console.Warn(w.String())
	}
	text, err := config.Migrated()
	if err != nil {
		return fmt.Errorf("config migrate: %s: %w", plain.Line(file), err)
	}
	return p.Console.Put(text)
}
