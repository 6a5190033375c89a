package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/check"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/compare"
	"github.com/massgen/massgen/cmd/massgen/app/inputs"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/serve"
	"github.com/massgen/massgen/cmd/massgen/app/sessions"
	"github.com/massgen/massgen/cmd/massgen/app/talk"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
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
	return &cli.App{
		Name: "massgen", Writer: p.Console.Out, Flags: append(p.Flags(), helpFlag(), versionFlag()), Commands: commandsOf(p),
		HideHelp: true, ExitErrHandler: func(*cli.Context, error) {},
	}
}

// flagsOf returns all flags that may follow a command.
func flagsOf(c *cli.Command) []cli.Flag { return append(slices.Clone(c.Flags), helpFlag()) }

func commandsOf(p *program.Program) []*cli.Command {
	list := []*cli.Command{
		inputs.Command(p.Console, p.Kept), inputs.Show(p.Env, p.Console, p.Kept), sessions.Command(p.Env, p.Console, p.Kept, p.Panels), sessions.Memory(p.Console, p.Kept),
		newPermissions(p.Env, p.Console),
		inputs.Replay(p.Env, p.Console, p.Kept, &p.Options.Budget, &p.Options.Panel.Config, talk.Rerun(p)), sessions.Describe(p.Console, p.Kept), lastCommand(p),
		(&modelsCommand{env: p.Env, console: p.Console, log: p.Log}).cli(),
		presetsCommand(p), compare.Command(p), serve.Command(p), serve.MCP(p), check.Config(p), check.Doctor(p), check.Init(p),
		completionCommand(p.Console), manCommand(nameOf(p)), helpCommand(p.Console), versionCommand(),
	}
	if p.Env.Cluster != nil {
		list = append(list, workerCommand(p), noteCommand(p), migrateCommand(p))
	}
	for _, c := range list {
		c.HideHelp = true // a command named help would take an argument for its own
	}
	return list
}

// nameOf returns the name of the program's file.
func nameOf(p *program.Program) string {
	if p.Env.Cluster != nil {
		return "massgen-temporal"
	}
	return "massgen"
}

// versionCommand prints the version, as --version does.
func versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Hidden: true, Action: func(c *cli.Context) error {
		_, err := io.WriteString(c.App.Writer, versionText())
		return err
	}}
}

func versionText() string { return cmdline.VersionLine() + "\n" }

// root is what massgen does when no command is named.
func root(ctx context.Context, p *program.Program, inv invocation) error {
	o := p.Options.About
	switch {
	case o.ListExamples:
		return listExamples(p.Console)
	case o.ListBackends:
		return listBackends(ctx, p, inv.words)
	case o.Example != "":
		return printExample(p.Console, o.Example)
	case o.Validate != "":
		return check.Validate(ctx, p, o.Validate)
	}
	if p.Options.Mode.Select {
		if err := check.Select(p); err != nil {
			return err
		}
	}
	if p.Options.Logs.Web {
		defer serve.Beside(ctx, p)()
	}
	return talk.Converse(ctx, p, inv.words, inv.doubt)
}

func listExamples(c *cmdline.Console) error {
	var b strings.Builder
	for _, e := range configs.Examples() {
		fmt.Fprintf(&b, "@examples/%-24s%s\n", e.Name, e.Summary)
	}
	_, err := io.WriteString(c.Out, b.String())
	return err
}

func printExample(c *cmdline.Console, name string) error {
	data, ok := configs.ReadExample(strings.TrimPrefix(name, "@examples/"))
	if !ok {
		return fmt.Errorf("--example: there is no %s: --list-examples shows what there is", name)
	}
	_, err := c.Out.Write(data)
	return err
}

// listBackends prints the table of providers and marks those that work on this machine. Given
// a type, it prints that type's details. It prints no key.
func listBackends(ctx context.Context, p *program.Program, words []string) error {
	r, err := resolverOf(p.Env, p.Console, p.Log)
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
	_, err = io.WriteString(p.Console.Out, text)
	return err
}

// workerCommand plays the turns that other processes begin.
func workerCommand(p *program.Program) *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "play the turns that others ask for, by the flags --config, --database and --temporal-address, until it is interrupted",
		Flags: slices.Concat(p.Flags(), p.Options.Display.WorkerFlags(), p.Options.Cluster.BuildFlags(), []cli.Flag{
			p.Options.Cluster.DrainFlag("when told to end, let calls under way end, and turns whose tools are here, for at most `TIME` (such as 30m); without this flag the calls alone, for at most 5m; a second signal ends at once"),
		}),
		Action: func(c *cli.Context) error { return talk.Work(c.Context, p, c.Args().Slice()) },
	}
}

// noteCommand adds to the question of a turn that workers play.
func noteCommand(p *program.Program) *cli.Command {
	return &cli.Command{
		Name: "note", Usage: "add TEXT to the question of the turn that runs in a session", UsageText: "massgen-temporal note SESSION TEXT",
		Flags:  cmdline.EngineFlags(p.Env.Cluster, &p.Options.Cluster, &p.Options.Session),
		Action: func(c *cli.Context) error { return addNote(c.Context, p, c.Args().Slice()) },
	}
}

func addNote(ctx context.Context, p *program.Program, words []string) (err error) {
	switch {
	case len(words) != 2:
		return errors.New("note: its form is: massgen-temporal note SESSION TEXT; a text of several words is put in quotes")
	case p.Options.Cluster.Engine == cmdline.LocalEngine:
		return errors.New("note: --engine local plays turns within one process: type /note TEXT there")
	case p.Kept.Database() == "":
		return fmt.Errorf("note: it needs --database URL, or %s: the store that all workers share", cmdline.DatabaseVariable)
	}
	cmdline.HideKeys(p.Env, p.Console)
	at, err := p.Engines.Address()
	if err != nil {
		return err
	}
	store, err := p.Kept.Open(ctx, archive.ToAsk)
	if err != nil {
		return fmt.Errorf("note: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	engine, connection, err := p.Env.Cluster.Connect(ctx, at)
	if err != nil {
		return fmt.Errorf("note: --temporal-address: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	if err := coordinator.NoteRemote(ctx, engine, store.Sessions, words[0], words[1]); err != nil {
		return err
	}
	p.Console.Say("massgen: noted: each agent is told before its next call")
	return nil
}

// migrateCommand upgrades the database that workers share.
func migrateCommand(p *program.Program) *cli.Command {
	var dry bool
	return &cli.Command{
		Name: "migrate", Usage: "upgrade the database of --database for this program", UsageText: "massgen-temporal migrate [--dry-run]",
		Flags: append(p.Options.Session.DatabaseFlags(p.Env.Cluster),
			&cli.BoolFlag{Name: "dry-run", Usage: "print the versions and the statements, and change nothing", Destination: &dry, DisableDefaultText: true}),
		Action: func(c *cli.Context) error {
			address := p.Kept.Database()
			switch {
			case c.Args().Present():
				return errors.New("migrate: it takes no words, only flags")
			case address == "":
				return fmt.Errorf("migrate: it needs --database URL, or %s: the store that all workers share", cmdline.DatabaseVariable)
			case p.Options.Session.Pooler:
				return errors.New("migrate: --database-pooler: it changes the schema over a connection of its own: give the URL of the database itself, and leave the flag out")
			}
			p.Console.Secrets.AddURL(address)
			if err := p.Env.Cluster.Migrate(c.Context, address, dry, p.Console.Out); err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
			return nil
		},
	}
}
