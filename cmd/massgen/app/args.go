package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	// doubt says why the question may be meant for a command, empty if it cannot be.
	doubt string
}

// splitArgs takes the arguments after the program's name apart. A word that is a
// command's name is one only where it is the first, and not after "--".
func splitArgs(app *cli.App, args []string) (invocation, error) {
	var inv invocation
	known, first := app.Flags, "" // the first word, if it is no command
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			inv.words = append(inv.words, args[i+1:]...)
			return inv, inv.suspect(app, first)
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			if inv.command == "" && len(inv.words) == 0 {
				if arg == "ls" { // as other programs have it
					arg, inv.words = "sessions", []string{"list"}
				}
				if c := app.Command(arg); c != nil {
					inv.command = arg
					known = flagsOf(c)
					continue
				}
				if !slices.Contains(inv.rootFlags, "--list-backends") { // a type, which may be like a command
					first = arg
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
	return inv, inv.suspect(app, first)
}

// suspect looks for a command in the first word of a question, which is empty if it stands behind "--". It
// returns an error for a word that is like a command. A question of this word alone is only doubtful: a piped
// text may follow it, or a person confirms it.
func (inv *invocation) suspect(app *cli.App, first string) error {
	if first == "" || first == "-" {
		return nil
	}
	isAlone := len(inv.words) == 1 || len(inv.words) == 2 && inv.words[1] == "-"
	isWord := isAlone && !strings.ContainsFunc(first, isNoLetter)
	meant := mistyped(app, first, isWord)
	switch {
	case isWord:
		inv.doubt = cmp.Or(meant, noCommand(first))
	case meant != "":
		return errors.New(wording.OrAsk(meant, first))
	}
	return nil
}

// isNoLetter reports whether a character is no ASCII letter.
func isNoLetter(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) }

// reserved lists words that other programs of this kind have for commands, or that this one will have.
// As questions they would cost money and mean nothing.
const reserved = "acp configs export logs shares simulate version viewer"

// meant returns the command that a person means by a word alone, "" for other words.
func meant(word string) string {
	switch word {
	case "list", "search", "rename", "branch", "export", "import", "delete", "usage", "compact":
		return "massgen sessions " + word
	case "rm":
		return "massgen sessions rm"
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

// noCommand returns a clause about a word that resembles no command.
func noCommand(word string) string {
	if slices.Contains(topicNames(), word) {
		return fmt.Sprintf("%s is no command: massgen help %s explains it", word, word)
	}
	return word + " is no command: massgen help lists them"
}

// mistyped returns the command that a word resembles, or that it is in other programs, in a clause for an
// error. It returns "" for other words. A word that is not alone may begin a question: it resembles only
// commands with the same first letters, which few mistype.
func mistyped(app *cli.App, word string, isAlone bool) string {
	if word == "-" || strings.ContainsFunc(word, unicode.IsSpace) {
		return ""
	}
	var names []string
	for _, c := range app.VisibleCommands() {
		names = append(names, c.Names()...)
	}
	lower := strings.ToLower(word)
	if command := meant(lower); command != "" {
		return fmt.Sprintf("%s is no command: did you mean %s?", word, command)
	}
	if slices.Contains(strings.Fields(reserved), lower) {
		return noCommand(word)
	}
	const typed = 3
	near, ok := configs.Nearest(lower, names)
	if ok && (isAlone || near[:min(typed, len(near))] == lower[:min(typed, len(lower))]) {
		return fmt.Sprintf("%s is no command: did you mean massgen %s?", word, near)
	}
	return ""
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
		case f.Names()[0] == "config" && strings.Contains(value, " ") && isMissing(value): // the person forgot FILE
			return "", 0, fmt.Errorf("--config %s: no such file: --config needs its FILE before the question", wording.Shortened(value, 40))
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

// isMissing reports whether no file has a path.
func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
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
	app.Action = func(c *cli.Context) error { return root(c.Context, p, inv) } // a word may be like a command
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
