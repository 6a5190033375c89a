package app

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/program"
)

// completionFlag ends the line of the completion scripts that older versions printed.
const completionFlag = "--generate-bash-completion"

func run(p *program.Program, args []string) error {
	app := cliApp(p)
	args = args[min(1, len(args)):]
	switch last := len(args) - 1; {
	case last > 0 && args[0] == completeCommand:
		return complete(p, app, args[1:])
	case last >= 0 && args[last] == completionFlag:
		return completeNames(p, app, args[:last])
	}
	inv, err := splitArgs(app, args)
	if err != nil {
		return err
	}
	return runCommand(p, app, inv)
}

// runCommand does what a command line asks for. It does not call the library's App.Run, which executes
// templates (DESIGN §9).
func runCommand(p *program.Program, app *cli.App, inv invocation) error {
	command := app.Command(inv.command)
	ctx, set, err := parsed(app, nil, app.Flags, inv.rootFlags, inv.words)
	switch {
	case err != nil:
		return err
	case ctx.Bool(helpName):
		return p.Console.Put(helpOf(app, command))
	case ctx.Bool(versionName):
		return p.Console.Put(versionText())
	}
	if err := act(ctx, set, app.Flags); err != nil {
		return err
	}
	if command == nil {
		return root(ctx.Context, p, inv.words)
	}
	flags := flagsOf(command)
	if ctx, set, err = parsed(app, ctx, flags, inv.commandFlags, inv.words); err != nil {
		return err
	}
	if ctx.Bool(helpName) {
		return p.Console.Put(helpOf(app, command))
	}
	if err := act(ctx, set, flags); err != nil {
		return err
	}
	return command.Action(ctx)
}

// helpOf returns the help of a command. No command, and a hidden one, get the help of the program.
func helpOf(app *cli.App, command *cli.Command) string {
	if command == nil || command.Hidden {
		return helpText(app)
	}
	return commandHelp(command)
}

// parsed returns the context of the flags and words that a program or a command was given, and the flags' set.
func parsed(app *cli.App, parent *cli.Context, flags []cli.Flag, given, words []string) (*cli.Context, *flag.FlagSet, error) {
	set := flag.NewFlagSet(app.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range flags {
		if err := f.Apply(set); err != nil {
			return nil, nil, err
		}
	}
	for _, word := range given {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !hasValue {
			value = "true"
		}
		if err := set.Set(name, value); err != nil { // the value is not shown: it may be a key
			return nil, nil, fmt.Errorf("--%s takes %s", name, wanted(set.Lookup(name)))
		}
	}
	if err := set.Parse(append([]string{"--"}, words...)); err != nil {
		return nil, nil, err
	}
	return cli.NewContext(app, set, parent), set, nil
}

// wanted says which values a flag takes that does not take every text: it is a switch or a number.
func wanted(f *flag.Flag) string {
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return "true or false, or no value"
	}
	return "a whole number of at most 18 digits"
}

// act runs the actions of the flags that were given, in the order in which they are described.
func act(ctx *cli.Context, set *flag.FlagSet, flags []cli.Flag) error {
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, f := range flags {
		if actionable, ok := f.(cli.ActionableFlag); ok && given[f.Names()[0]] {
			if err := actionable.RunAction(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
