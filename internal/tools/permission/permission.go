// Package permission decides whether a tool may be called: by rules on its name and
// arguments, and while a panel plans.
package permission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Action is what becomes of a call.
type Action string

// Allow lets a call run, Deny refuses it, Ask leaves it to a person.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

// Rule is one rule about calls of tools.
type Rule struct {
	Action Action
	// Tool is a pattern of a tool's name. In all patterns * is any text and ? any one
	// character.
	Tool string
	// Arguments are patterns of some of a call's arguments, by their names; all must fit.
	// A text is compared as it is, a list of texts with blanks in between, anything else
	// as JSON. To ask or deny it is enough that a text within a list or an object fits; to
	// allow, a pattern that has no blank has to fit each text of a list.
	Arguments map[string]string
}

// Rules decide about calls. They may be used concurrently.
type Rules struct {
	Rules []Rule
	// Otherwise is what holds for a call that no rule is about; empty means Allow.
	Otherwise Action
	// Look says what is where an argument may point; nil is for no files.
	Look Look `json:"-"`
}

// Look sees an agent's files as its tools do. It may be used concurrently.
type Look interface {
	// Path says where a path leads: all names by which the tools know that place, none for what
	// is no path; and whether there is a folder.
	Path(path string) (names []string, isFolder bool)
	// Program returns the names and paths of a program that is called in a folder, and of what
	// links lead to on the way to its file.
	Program(called, dir string) (names []string)
}

// nowhere is the Look without files.
type nowhere struct{}

func (nowhere) Path(string) ([]string, bool) { return nil, false }

func (nowhere) Program(called, _ string) []string { return []string{called} }

// Ruling is what the rules say about one call. Reason is for the log and for the model.
type Ruling struct {
	Action Action
	Reason string
}

// Check returns what is wrong with the rules, or nil.
func (r Rules) Check() error {
	for i, rule := range r.Rules {
		if !slices.Contains([]Action{Allow, Ask, Deny}, rule.Action) {
			return fmt.Errorf("permission rule %d has the action %q: allow, ask or deny", i+1, rule.Action)
		}
		if rule.Tool == "" {
			return fmt.Errorf("permission rule %d names no tool: * is every tool", i+1)
		}
	}
	if !slices.Contains([]Action{"", Allow, Ask, Deny}, r.Otherwise) {
		return fmt.Errorf("calls without a permission rule have the action %q: allow, ask or deny", r.Otherwise)
	}
	return nil
}

// Decide decides about a call of a tool with these arguments, as the model wrote them.
// The strictest rule that fits holds, wherever it stands: deny before ask before allow.
// A rule to allow fits only if an argument fits in every way it can be written (a path as
// it stands and made clean, JSON with its names in order), and a blank of a pattern is none
// within the first text of a list, which is a program's path. A rule to ask or deny fits if an
// argument does in one way, in any case of letters: by where a link leads, by a program's name
// without its path, or since something may that is in the folder which the argument names,
// unless the tool only lists that. To ask for all calls but a few, allow these and
// let Otherwise be Ask. Arguments of which readers would take different ones, as where a
// name is there twice, are denied.
func Decide(rules Rules, tool, arguments string) Ruling {
	otherwise := cmp.Or(rules.Otherwise, Allow)
	undecided := Ruling{otherwise, "no permission rule is about it: " + string(otherwise)}
	if len(rules.Rules) == 0 && isUnambiguous(arguments) {
		return undecided
	}
	args, err := read(arguments)
	if err != nil {
		return Ruling{Deny, "the arguments of " + tool + " " + err.Error()}
	}
	c := call{tool, args, cmp.Or[Look](rules.Look, nowhere{})}
	for _, action := range []Action{Deny, Ask, Allow} {
		for i, rule := range rules.Rules {
			if rule.Action == action && rule.fits(c) {
				return Ruling{action, fmt.Sprintf("permission rule %d: %s", i+1, rule)}
			}
		}
	}
	return undecided
}

// About says in words what holds for the calls of a tool: what becomes of most of them, and which
// arguments change that.
func (r Rules) About(tool string) string {
	strictness := []Action{Allow, Ask, Deny}
	usual := cmp.Or(r.Otherwise, Allow)
	isSaid := false // by a rule, which no milder one changes
	for _, rule := range r.Rules {
		if len(rule.Arguments) == 0 && rule.About(tool) && (!isSaid || slices.Index(strictness, rule.Action) > slices.Index(strictness, usual)) {
			usual, isSaid = rule.Action, true
		}
	}
	words := []string{string(usual)}
	for i := len(strictness) - 1; i >= 0; i-- {
		action := strictness[i]
		if action == usual || isSaid && i < slices.Index(strictness, usual) {
			continue
		}
		for _, rule := range r.Rules {
			if rule.Action == action && len(rule.Arguments) > 0 && rule.About(tool) {
				words = append(words, string(action)+" if "+rule.arguments())
			}
		}
	}
	return strings.Join(words, "; ")
}

// Unattended is what becomes of a decision where nobody can be asked: instead takes the
// place of Ask.
func (d Ruling) Unattended(instead Action) Ruling {
	if d.Action != Ask {
		return d
	}
	return Ruling{instead, d.Reason + "; nobody can be asked: " + string(instead)}
}

// String is the rule in one line, as in "deny write_file(path: secret*)".
func (r Rule) String() string {
	if len(r.Arguments) == 0 {
		return string(r.Action) + " " + r.Tool
	}
	return fmt.Sprintf("%s %s(%s)", r.Action, r.Tool, r.arguments())
}

func (r Rule) arguments() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Arguments)) {
		parts = append(parts, name+": "+r.Arguments[name])
	}
	return strings.Join(parts, ", ")
}

// About says whether the rule is about calls of a tool, whatever their arguments.
func (r Rule) About(tool string) bool { return compile(r.Tool, r.Action == Allow).MatchString(tool) }

// Tools of a workspace that take a path in a way of their own.
const (
	lists    = "list_files"   // shows names alone
	searches = "search_files" // in all there is, without a path
	moves    = "move_file"    // a folder with what is in it
)

// call is a call of a tool.
type call struct {
	tool string
	args map[string]argument
	look Look
}

// text is an argument that is a text, empty for none.
func (c call) text(name string) string {
	if a := c.args[fold(name)]; len(a.ways) > 0 && !a.list {
		return a.ways[0]
	}
	return ""
}

// path is Look.Path for an argument of the call. What is not there becomes a folder if one is
// moved there.
func (c call) path(name, text string) (names []string, isFolder bool) {
	names, isFolder = c.look.Path(text)
	if c.tool == moves && name == fold("to") {
		_, fromFolder := c.look.Path(c.text("from"))
		isFolder = isFolder || fromFolder
	}
	return names, isFolder && c.tool != lists
}

func (r Rule) fits(c call) bool {
	if !r.About(c.tool) {
		return false
	}
	for name, pattern := range r.Arguments {
		name = fold(name)
		a, ok := c.args[name]
		if !ok && c.tool == searches && name == fold("path") {
			a, ok = argument{ways: []string{"."}}, r.Action != Allow
		}
		switch {
		case !ok:
			return false
		case r.Action == Allow && !a.allowed(pattern):
			return false
		case r.Action != Allow && !a.refused(pattern, name, c):
			return false
		}
	}
	return true
}
