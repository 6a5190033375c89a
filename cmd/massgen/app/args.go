package app

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
)

// invocation is a command line in its parts. Flags may stand anywhere in a line.
type invocation struct {
	// command is a subcommand's name, or empty.
	command string
	// rootFlags stand for the program, and commandFlags for the command. Each has the form --name or
	// --name=value, with the first of the flag's names.
	rootFlags, commandFlags []string
	// words are the rest: the question, or the command's arguments.
	words []string
}

// splitArgs takes the arguments after the program's name apart. A word that is a
// command's name is one only where it is the first, and not after "--".
func splitArgs(app *cli.App, args []string) (invocation, error) {
	var inv invocation
	known := app.Flags
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			inv.words = append(inv.words, args[i+1:]...)
			return inv, nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			if c := app.Command(arg); c != nil && inv.command == "" && len(inv.words) == 0 {
				inv.command = arg
				known = flagsOf(c)
				continue
			}
			takesWord := slices.Contains(inv.rootFlags, "--list-backends") // a type, which may be like a command
			if inv.command == "" && len(inv.words) == 0 && !takesWord {
				if err := mistyped(app, arg); err != nil {
					return inv, err
				}
			}
			inv.words = append(inv.words, arg)
			continue
		}
		flag, words, err := takeFlag(known, args[i:])
		if err != nil {
			return inv, err
		}
		if inv.command == "" {
			inv.rootFlags = append(inv.rootFlags, flag)
		} else {
			inv.commandFlags = append(inv.commandFlags, flag)
		}
		i += words - 1
	}
	return inv, nil
}

// reserved lists words that other programs of this kind have for commands, or that this one will have.
// As questions they would cost money and mean nothing.
const reserved = "acp configs export logs shares simulate version viewer"

// meant returns the command that a person means by a word alone, "" for other words.
func meant(word string) string {
	switch word {
	case "list", "search", "rename", "branch", "export", "import", "delete", "usage", "compact":
		return "massgen sessions " + word
	case "add", "forget":
		return "massgen memory " + word
	case "validate":
		return "massgen --validate FILE"
	case "continue", "resume":
		return "massgen --continue"
	case "examples", "backends":
		return "massgen --list-" + word
	}
	return ""
}

// mistyped returns an error for a first word that resembles a command, or that other programs have for
// a command. A question of one word follows "--".
func mistyped(app *cli.App, word string) error {
	if word == "-" || strings.ContainsFunc(word, unicode.IsSpace) {
		return nil
	}
	var names []string
	for _, c := range app.VisibleCommands() {
		names = append(names, c.Names()...)
	}
	const asQuestion = "-- before it asks it as a question"
	lower := strings.ToLower(word)
	if command := meant(lower); command != "" {
		return fmt.Errorf("%s is no command: did you mean %s? %s", word, command, asQuestion)
	}
	if slices.Contains(strings.Fields(reserved), lower) {
		return fmt.Errorf("%s is no command: --help lists the commands and flags; %s", word, asQuestion)
	}
	const typed = 3 // few mistype the first letters, and some questions are one word
	if near, ok := configs.Nearest(lower, names); ok && near[:min(typed, len(near))] == lower[:min(typed, len(lower))] {
		return fmt.Errorf("%s is no command: did you mean %s? %s", word, near, asQuestion)
	}
	return nil
}

// takeFlag returns the flag at the beginning of args by its first name, with its value, and how many
// words it takes.
func takeFlag(known []cli.Flag, args []string) (flag string, words int, err error) {
	f, name, value, hasValue := flagNamed(known, args[0])
	if f == nil {
		return "", 0, unknownFlag(known, args[0], name)
	}
	words, flag = 1, "--"+f.Names()[0]
	if takesValue(f) {
		switch {
		case hasValue:
		case name == "single-agent" && (len(args) < 3 || configs.CheckID(args[1]) != nil):
			value = cmdline.FirstAgent
		case len(args) > 1:
			words, value = 2, args[1]
		}
		switch {
		case value == "":
			return "", 0, fmt.Errorf("--%s needs a value: --help shows which", name)
		case name == "validate" && !hasValue && isFlag(known, value): // the person forgot FILE
			return "", 0, fmt.Errorf("--validate needs its FILE before %s: massgen --validate FILE", value)
		}
		hasValue = true
	}
	if !hasValue {
		return flag, words, nil
	}
	switch f.(type) { // an error does not show the value: it may be a key
	case *cli.BoolFlag:
		isOn, err := strconv.ParseBool(value)
		if err != nil {
			return "", 0, fmt.Errorf("--%s takes true or false, or no value", f.Names()[0])
		}
		if isOn {
			return flag, words, nil
		}
	case *cli.IntFlag:
		if _, err := strconv.ParseInt(value, 0, strconv.IntSize); err != nil {
			return "", 0, fmt.Errorf("--%s takes a whole number of at most 18 digits", f.Names()[0])
		}
	}
	return flag + "=" + value, words, nil
}

// flagNamed splits a word such as -name or --name=value, and returns the flag of this name, nil for an
// unknown name.
func flagNamed(known []cli.Flag, word string) (f cli.Flag, name, value string, hasValue bool) {
	name, value, hasValue = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	i := slices.IndexFunc(known, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i >= 0 {
		f = known[i]
	}
	return f, name, value, hasValue
}

// isFlag reports whether a word is a flag with two dashes and without a value.
func isFlag(known []cli.Flag, word string) bool {
	f, _, _, hasValue := flagNamed(known, word)
	return f != nil && !hasValue && strings.HasPrefix(word, "--")
}

// unknownFlag returns the error for a flag. It does not show the flag's value, which may be a key.
func unknownFlag(known []cli.Flag, arg, name string) error {
	shown, _, _ := strings.Cut(arg, "=")
	if strings.ContainsAny(arg, " \n") {
		return fmt.Errorf("%s: a question that begins with a dash needs -- before it", wording.Shortened(shown, 40))
	}
	if cure := cmdline.InPlaceOf(name); cure != "" {
		return fmt.Errorf("%s is a flag of MassGen that is not here: %s", shown, cure)
	}
	cure := "--help lists the flags"
	var names []string
	for _, f := range known {
		names = append(names, f.Names()[0])
	}
	if near, ok := configs.Nearest(name, names); ok {
		cure = fmt.Sprintf("did you mean --%s? %s", near, cure)
	}
	return fmt.Errorf("unknown flag %s: %s", shown, cure)
}

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
	command := app.Command(inv.command)
	switch {
	case slices.Contains(slices.Concat(inv.rootFlags, inv.commandFlags), "--"+helpName):
		return p.Console.Put(helpOf(app, command))
	case slices.Contains(inv.rootFlags, "--"+versionName):
		return p.Console.Put(versionText())
	}
	app.Action = func(c *cli.Context) error { return root(c.Context, p, inv.words) } // a word may be like a command
	line := append([]string{app.Name}, inv.rootFlags...)
	if command != nil {
		line = slices.Concat(line, []string{inv.command}, inv.commandFlags, []string{"--"}, inv.words)
	}
	return app.RunContext(context.Background(), line)
}

// helpOf returns the help of a command. No command, and a hidden one, get the help of the program.
func helpOf(app *cli.App, command *cli.Command) string {
	if command == nil || command.Hidden {
		return helpText(app)
	}
	return commandHelp(command)
}
