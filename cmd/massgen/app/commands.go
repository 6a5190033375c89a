package app

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/inputs"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/serve"
	"github.com/massgen/massgen/cmd/massgen/app/sessions"
	"github.com/massgen/massgen/cmd/massgen/app/talk"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/system/plain"
)

// The flags that the program itself answers, before any other flag is looked at.
const (
	helpName    = "help"
	versionName = "version"
)

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: helpName, Aliases: []string{"h"}, Category: cmdline.Reference, Usage: "show help", DisableDefaultText: true}
}

func versionFlag() cli.Flag {
	return &cli.BoolFlag{Name: versionName, Aliases: []string{"v"}, Category: cmdline.Reference, Usage: "print the version", DisableDefaultText: true}
}

// cliApp describes the command line. Each action runs in the program p.
func cliApp(p *program.Program) *cli.App {
	return &cli.App{Name: "massgen", Writer: p.Console.Out, Flags: append(p.Flags(), helpFlag(), versionFlag()), Commands: commandsOf(p)}
}

// flagsOf returns all flags that may follow a command.
func flagsOf(c *cli.Command) []cli.Flag { return append(slices.Clone(c.Flags), helpFlag()) }

func commandsOf(p *program.Program) []*cli.Command {
	list := []*cli.Command{
		inputs.Command(p.Console, p.Kept), inputs.Show(p.Env, p.Console, p.Kept), sessions.Command(p.Env, p.Console, p.Kept, p.Panels), sessions.Memory(p.Console, p.Kept),
		permissionsCommand{p.Env, p.Console}.cli(),
		inputs.Replay(p.Env, p.Console, p.Kept, &p.Options.Budget, &p.Options.Panel.Config, talk.Rerun(p)), sessions.Describe(p.Console, p.Kept),
		(&modelsCommand{env: p.Env, console: p.Console, log: p.Log}).cli(),
		serve.Command(p), serve.MCP(p),
		completionCommand(p.Console), manCommand(), helpCommand(p.Console), versionCommand(),
	}
	if p.Env.Cluster != nil {
		list = append(list, workerCommand(p), noteCommand(p))
	}
	return list
}

// helpCommand prints the help. Without it, the word help would be sent to a panel.
func helpCommand(out *cmdline.Console) *cli.Command {
	return &cli.Command{Name: "help", Hidden: true, Action: func(c *cli.Context) error {
		switch {
		case !c.Args().Present():
			return out.Put(helpText(c.App))
		case c.Args().First() == "flags":
			return out.Put(flagsText(c.App))
		}
		return fmt.Errorf("help: there is no page %s: massgen help flags has all flags, massgen COMMAND --help all of a command", wording.Shortened(plain.Line(c.Args().First()), 40))
	}}
}

// versionCommand is for who types it, as helpCommand is.
func versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Hidden: true, Action: func(c *cli.Context) error {
		_, err := io.WriteString(c.App.Writer, versionText())
		return err
	}}
}

func versionText() string { return "massgen version " + cmdline.Version() + "\n" }
