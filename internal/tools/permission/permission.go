// Package permission decides whether a tool may be called: by rules on its name and
// arguments, and while a panel plans.
package permission

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Action is the treatment of a call.
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

// Expression is a rule to ask or deny, about what a pattern cannot say.
type Expression struct {
	Action Action
	// Tool is a pattern of a tool's name, and Argument the name of an argument.
	Tool, Argument string
	// Finds is a regular expression, which fits if it finds something in the argument, in any case of letters.
	Finds string
}

// Rules decide about calls. They may be used concurrently.
type Rules struct {
	Rules []Rule
	// Expressions stand beside the rules: the strictest that fits holds.
	Expressions []Expression `json:",omitempty"`
	// Otherwise is the action for a call that no rule covers; empty means Allow.
	Otherwise Action
	// Look finds the files that arguments name; nil if there are no files.
	Look Look `json:"-"`
}

// Look sees an agent's files as its tools do. It may be used concurrently.
type Look interface {
	// Path returns all names by which the tools know the place of a path, and whether it is a
	// folder. It returns no names for a text that is no path.
	Path(path string) (names []string, isFolder bool)
	// Program returns the names and paths of a program that is called in a folder, and of the
	// files on the way along its links.
	Program(called, dir string) (names []string)
}

// nowhere is the Look without files.
type nowhere struct{}

func (nowhere) Path(string) ([]string, bool) { return nil, false }

func (nowhere) Program(called, _ string) []string { return []string{called} }

// Decision is the rules' answer to one call. Reason is for the log and for the model.
type Ruling struct {
	Action Action
	Reason string
}

// Check returns the first mistake in the rules, or nil.
func (r Rules) Check() error {
	for i, rule := range r.Rules {
		if !slices.Contains([]Action{Allow, Ask, Deny}, rule.Action) {
			return fmt.Errorf("permission rule %d has the action %q: allow, ask or deny", i+1, rule.Action)
		}
		if rule.Tool == "" {
			return fmt.Errorf("permission rule %d names no tool: * is every tool", i+1)
		}
	}
	for _, e := range r.Expressions {
		if !slices.Contains([]Action{Ask, Deny}, e.Action) {
			return fmt.Errorf("an expression has the action %q: ask or deny", e.Action)
		}
		if _, err := e.compile(); err != nil {
			return fmt.Errorf("an expression about %s: %w", e.Tool, err)
		}
	}
	if !slices.Contains([]Action{"", Allow, Ask, Deny}, r.Otherwise) {
		return fmt.Errorf("calls without a permission rule have the action %q: allow, ask or deny", r.Otherwise)
	}
	return nil
}

// Decide decides about a call of a tool with these arguments, as the model wrote them. The strictest
// rule that fits holds, whatever its place: deny before ask before allow.
//
// A rule to allow fits only if the argument fits in every way of writing it (a path as it stands and
// cleaned, JSON with its names in order). A blank of its pattern never matches a blank in the first
// text of a list, which is a program's path.
//
// A rule to ask or deny fits if the argument fits in one way, in any case of letters: by the target of
// a link, by a program's name without its path, or because a file in the folder that the argument
// names may fit, unless the tool only lists that folder.
//
// To ask about all calls but a few, allow these and let Otherwise be Ask. Decide denies arguments that
// readers of JSON understand differently, such as one name twice.
func Decide(rules Rules, tool, arguments string) Ruling {
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
		for _, e := range rules.Expressions {
			if found, ok := e.fits(c); ok && e.Action == action {
				return Ruling{action, fmt.Sprintf("%s %s: %q is judged to be a risk", action, tool, found)}
			}
		}
	}
	otherwise := cmp.Or(rules.Otherwise, Allow)
	return Ruling{otherwise, "no permission rule is about it: " + string(otherwise)}
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

// Stricter returns the stricter of two decisions: deny before ask before allow, and the first of two that
// are as strict.
func Stricter(a, b Ruling) Ruling {
	strictness := []Action{Allow, Ask, Deny}
	if slices.Index(strictness, b.Action) > slices.Index(strictness, a.Action) {
		return b
	}
	return a
}

// Unattended returns the decision where nobody can be asked: instead replaces Ask.
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

// About reports whether the rule covers calls of a tool, with any arguments.
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

func (e Expression) compile() (*regexp.Regexp, error) { return regexp.Compile("(?is)" + e.Finds) }

// fits reports whether the expression finds something in a call, and what.
func (e Expression) fits(c call) (found string, ok bool) {
	if !(Rule{Action: e.Action, Tool: e.Tool}).About(c.tool) {
		return "", false
	}
	name := fold(e.Argument)
	a, ok := c.args[name]
	if !ok {
		return "", false
	}
	expr, err := e.compile()
	if err != nil { // Check refuses it
		return err.Error(), true
	}
	ways, _ := a.seen(name, c)
	for _, text := range slices.Concat(ways, a.texts) {
		if found := expr.FindString(text); found != "" {
			return found, true
		}
	}
	return "", false
}
