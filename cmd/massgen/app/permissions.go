package app

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/permission"
)

// permissionsCommand lists the calls of tools that the person always allows, and takes them back.
type permissionsCommand struct {
	env     *cmdline.Env
	console *cmdline.Console
}

func newPermissions(env *cmdline.Env, out *cmdline.Console) *cli.Command {
	p := permissionsCommand{env, out}
	const name = "permissions"
	command := archive.Command{Name: name, Verbs: []archive.Verb{
		{Name: "list", About: "list the rules with their numbers", Most: archive.NoArguments},
		{Name: "remove", Arguments: "NUMBER", About: "remove a rule", Least: 1, Most: 1},
	}}
	return &cli.Command{
		Name: name, Usage: "list or remove the calls of tools that you always allow", UsageText: command.Usage(),
		BashComplete: archive.CompleteVerbs(command.Verbs),
		Action: func(ctx *cli.Context) error {
			v, words, err := command.Verb(ctx)
			if err != nil {
				return err
			}
			folder := store.ConfigFolder(p.env.Lookup)
			if folder == "" {
				return errors.New(name + ": there is no home folder: set HOME")
			}
			granted, err := permission.OpenGrants(folder)
			if err == nil && v.Name == "list" {
				return p.list(granted)
			}
			if err == nil {
				err = p.remove(granted, words[0])
			}
			if err != nil {
				return fmt.Errorf("%s %s: %w", name, v.Name, err)
			}
			return nil
		},
	}
}

func (p permissionsCommand) list(granted *permission.Grants) error {
	rows := [][]string{{"NUMBER", "RULE"}}
	for i, rule := range granted.List() {
		rows = append(rows, []string{strconv.Itoa(i + 1), plain.Visible(plain.Line(rule.String()))})
	}
	if len(rows) == 1 {
		return p.console.Put("there are no rules yet: type a when massgen asks about a tool call to add one\n")
	}
	return p.console.Put(plain.Columns(rows))
}

func (p permissionsCommand) remove(granted *permission.Grants, word string) error {
	number, err := strconv.Atoi(word)
	if err != nil {
		return fmt.Errorf("%q is no number of a rule: massgen permissions list shows them", wording.Shortened(word, 40))
	}
	rule, err := granted.Remove(number)
	if err != nil {
		return err
	}
	return p.console.Put("removed: " + plain.Visible(plain.Line(rule.String())) + "\n")
}
