package app

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/configs"
)

// invocation is a command line taken apart: flags may stand anywhere in it.
type invocation struct {
	// command is a subcommand's name, or empty.
	command string
	// rootFlags are the flags of the program, commandFlags those of the command.
	rootFlags, commandFlags []string
	// words are the rest: the question, or the command's arguments.
	words []string
}

// splitArgs takes the arguments after the program's name apart. A word that is a
// command's name is one only where it is the first, and not after "--".
func splitArgs(app *cli.App, args []string) (invocation, error) {
	var inv invocation
	known := append(slices.Clone(app.Flags), cli.HelpFlag, cli.VersionFlag)
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			inv.words = append(inv.words, args[i+1:]...)
			return inv, nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			if c := app.Command(arg); c != nil && inv.command == "" && len(inv.words) == 0 {
				inv.command = arg
				known = append(slices.Clone(c.Flags), cli.HelpFlag)
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
		took, err := takeFlag(known, args[i:])
		if err != nil {
			return inv, err
		}
		if inv.command == "" {
			inv.rootFlags = append(inv.rootFlags, took...)
		} else {
			inv.commandFlags = append(inv.commandFlags, took...)
		}
		i += len(took) - 1
	}
	return inv, nil
}

// reserved are the names that other programs of this kind have for commands, or that this one
// will have. Sent to a panel they would cost money and mean nothing.
const reserved = "acp config configs doctor init simulate version viewer"

// meant returns the command that a person means by a word alone, "" if there is none.
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

// mistyped says that a word in the place of a command is nearly one, or the name of one that
// there is not. A question of one word is asked after "--".
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

// takeFlag returns the flag at the beginning of args, with its value.
func takeFlag(known []cli.Flag, args []string) ([]string, error) {
	name, value, hasValue := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
	i := slices.IndexFunc(known, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil, unknownFlag(known, args[0], name)
	}
	takesValue, ok := known[i].(cli.DocGenerationFlag)
	took := args[:1]
	if !ok || !takesValue.TakesValue() {
		return took, nil
	}
	if !hasValue && len(args) > 1 {
		took, value = args[:2], args[1]
	}
	switch {
	case value == "":
		return nil, fmt.Errorf("--%s needs a value: --help shows which", name)
	case name == "validate" && !hasValue && isFlag(known, value): // whoever expects a flag without a value
		return nil, fmt.Errorf("--validate needs its FILE before %s: massgen --validate FILE", value)
	}
	return took, nil
}

// isFlag reports whether a word is a flag with two dashes and without a value.
func isFlag(known []cli.Flag, word string) bool {
	name, isLong := strings.CutPrefix(word, "--")
	return isLong && slices.ContainsFunc(known, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// unknownFlag does not show what is given to the flag: it may be a key.
func unknownFlag(known []cli.Flag, arg, name string) error {
	shown, _, _ := strings.Cut(arg, "=")
	if strings.ContainsAny(arg, " \n") {
		return fmt.Errorf("%s: a question that begins with a dash needs -- before it", shortened(shown, 40))
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

// shortened is the beginning of a text, with … where something is left out.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
