package configs

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/tools/permission"
)

// Guard has rules about the calls of one agent's tools.
type Guard struct {
	// Tool is a pattern of the tools that the guard decides about; empty is every tool.
	Tool string `json:",omitempty"`
	permission.Rules
	// Unattended replaces Otherwise where nobody can be asked; empty leaves it.
	Unattended permission.Action `json:",omitempty"`
}

// runCommand is the tool that runs commands, and argv its argument.
const (
	runCommand = "run_command"
	argv       = "argv"
)

// readAllowedCommands reads the patterns of the commands that may run. Patterns with arguments make all of
// them a guard: the fence would also apply a list of programs to those that a command starts.
func readAllowedCommands(r *reader, at string, n *yaml.Node, a *Agent) {
	programs, lines := readCommands(r, at, n)
	a.Tools.AllowedCommands = programs
	if len(lines) == 0 {
		return
	}
	a.Tools.AllowedCommands = nil
	guard := Guard{Tool: runCommand, Rules: permission.Rules{Otherwise: permission.Deny}}
	for _, program := range programs {
		lines = append(lines, program, program+" *")
	}
	for _, line := range lines {
		guard.Rules.Rules = append(guard.Rules.Rules, commandRule(permission.Allow, line))
	}
	a.Tools.Guards = append(a.Tools.Guards, guard)
	r.doc.warn(n, "%s has patterns with arguments, which are rules here: a command runs only if one of them fits", at)
}

// readBlockedCommands reads the patterns of the commands that may not run. Patterns with arguments become
// rules.
func readBlockedCommands(r *reader, at string, n *yaml.Node, a *Agent) {
	programs, lines := readCommands(r, at, n)
	a.Tools.BlockedCommands = programs
	if len(lines) == 0 {
		return
	}
	guard := Guard{Tool: runCommand}
	for _, line := range lines {
		anyCharacter := strings.ReplaceAll(line, ".", "?") // as in a regular expression
		guard.Rules.Rules = append(guard.Rules.Rules, commandRule(permission.Deny, anyCharacter))
	}
	a.Tools.Guards = append(a.Tools.Guards, guard)
	r.doc.warn(n, "%s has patterns with arguments, which are rules here: a command that begins as one of them is refused", at)
}

func commandRule(action permission.Action, line string) permission.Rule {
	return permission.Rule{Action: action, Tool: runCommand, Arguments: map[string]string{argv: line}}
}

// readCommands reads patterns of commands: those of programs' names, and those of whole lines.
func readCommands(r *reader, at string, n *yaml.Node) (programs, lines []string) {
	if isNull(n) {
		return nil, nil
	}
	programs = []string{}
	for i, item := range r.doc.list(at, n, "a list of texts") {
		path := fmt.Sprintf("%s[%d]", at, i)
		p := commandPattern()
		pattern, ok := parseScalar(r, path, item, p)
		switch {
		case isNull(item):
			r.doc.fail(item, "%s is empty; it must be %s", path, p.wanted)
		case !ok:
		case strings.Contains(pattern, " "):
			lines = append(lines, pattern)
		default:
			programs = append(programs, pattern)
		}
	}
	return programs, lines
}

var (
	programName = regexp.MustCompile(`^[A-Za-z0-9_.+*-]+$`)
	commandLine = regexp.MustCompile(`^[A-Za-z0-9_.*/:=@, -]+$`)
)

// commandPattern accepts a pattern of a program's name or of a command, and MassGen's regular expressions
// that mean one: "python.*", "git .*", "git push --force". As there, a pattern of a command is its beginning.
func commandPattern() parser[string] {
	const wanted = "a pattern of a program's name or of a command, such as git, python* or git push*: other rules on arguments belong in permissions: at the top level"
	return parser[string]{wanted, func(s scalar) (string, bool) {
		text, isWhole := strings.CutSuffix(strings.TrimPrefix(s.text, "^"), "$")
		name := strings.ReplaceAll(strings.TrimSuffix(text, " .*"), ".*", "*")
		switch {
		case !s.is("!!str"):
			return "", false
		case programName.MatchString(name):
			return name, true
		case !commandLine.MatchString(name) || !strings.Contains(strings.TrimSpace(name), " ") || strings.TrimSpace(name) != name:
			return "", false
		}
		if !isWhole {
			name = strings.TrimSuffix(name, "*") + "*"
		}
		return name, true
	}}
}
