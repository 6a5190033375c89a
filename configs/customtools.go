package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// CustomToolPrefix begins the names of custom tools for models.
const CustomToolPrefix = "custom_tool__"

// CustomTool is a function in Python that an agent may call.
type CustomTool struct {
	// Name is the tool's name for models.
	Name string
	// Path is the function's file, relative to the current folder, or the name of a module that Python finds.
	// Empty means a function of MassGen's own package.
	Path     string
	Function string
	// Description replaces the text of the function's docstring, unless it is empty.
	Description string
	// Presets are arguments that models neither see nor change, and Defaults those that a call may leave out.
	Presets  map[string]any
	Defaults map[string]any
	// Env are variables that the function gets beside PATH, HOME, TMPDIR and LANG.
	Env map[string]string
	// Network lets the function open connections.
	Network bool
}

// Format writes the tool without the values of its arguments and variables, whatever the verb.
func (t CustomTool) Format(f fmt.State, _ rune) { tell(f, t.Name) }

// IsFile reports whether the path is that of a file.
func (t CustomTool) IsFile() bool { return strings.HasSuffix(t.Path, ".py") }

// IsMassGens reports whether the function is one of MassGen's own package.
func (t CustomTool) IsMassGens() bool {
	return t.Path == "" || strings.HasPrefix(filepath.ToSlash(filepath.Clean(t.Path)), "massgen/")
}

// IsMissing reports whether the function's file does not exist. It does not look for MassGen's own files.
func (t CustomTool) IsMissing() bool {
	if !t.IsFile() || t.IsMassGens() {
		return false
	}
	_, err := os.Stat(t.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// functions is an entry of custom_tools: functions of one file. A list has an element for each function.
type functions struct {
	tool         CustomTool
	names        []string
	functions    []string
	descriptions []string
	presets      []map[string]any
	defaults     []map[string]any
}

func customToolSection() section[functions] {
	return section[functions]{
		also: []key[functions]{
			{"path", pathOf("a file in Python", func(f *functions) *string { return &f.tool.Path })},
			{"function", oneOrMore(func(f *functions) *[]string { return &f.functions })},
			{"func", oneOrMore(func(f *functions) *[]string { return &f.functions })},
			{"name", oneOrMore(func(f *functions) *[]string { return &f.names })},
			{"description", oneOrMore(func(f *functions) *[]string { return &f.descriptions })},
			{"preset_args", argumentsOf(func(f *functions) *[]map[string]any { return &f.presets })},
			{"default_params", argumentsOf(func(f *functions) *[]map[string]any { return &f.defaults })},
			{"env", by(readCustomToolEnv)},
			{"network", value(boolean(), func(f *functions) *bool { return &f.tool.Network })},
		},
		massgen: []massgenKeys{{fate: accepted, names: "category defer_loading"}},
	}
}

// oneOrMore reads a text, or a list of texts.
func oneOrMore(field func(*functions) *[]string) item[functions] {
	return item[functions]{
		read: func(r *reader, at string, n *yaml.Node, f *functions) {
			if deref(n).Kind == yaml.SequenceNode {
				*field(f) = r.texts(at, n, textParser())
				return
			}
			if text, ok := parseScalar(r, at, n, textParser()); ok {
				*field(f) = []string{text}
			}
		},
		shape: func() shape { return shape{"anyOf": []shape{wordShape(), textsShape()}} },
	}
}

// argumentsOf reads arguments, or a list of arguments.
func argumentsOf(field func(*functions) *[]map[string]any) item[functions] {
	return by(func(r *reader, at string, n *yaml.Node, f *functions) {
		list := []*yaml.Node{deref(n)}
		if deref(n).Kind == yaml.SequenceNode {
			list = deref(n).Content
		}
		for _, item := range list {
			args := map[string]any{}
			if err := deref(item).Decode(&args); err != nil {
				r.doc.fail(item, "%s must be a mapping of arguments to values, or a list of mappings", at)
				return
			}
			r.expandAll(at, item, args, false)
			*field(f) = append(*field(f), args)
		}
	})
}

// readCustomToolEnv reads variables: a list of the names of those that are passed on, or a mapping as that of an
// MCP server.
func readCustomToolEnv(r *reader, at string, n *yaml.Node, f *functions) {
	if deref(n).Kind != yaml.SequenceNode {
		var s MCPServer
		r.serverEnv(at, n, &s)
		f.tool.Env = s.Env
		return
	}
	f.tool.Env = map[string]string{}
	for i, item := range deref(n).Content {
		name, ok := parseScalar(r, fmt.Sprintf("%s[%d]", at, i), item, textParser())
		if ok && !variableName.MatchString(name) {
			r.doc.fail(item, "%s has %s, which is no variable's name; write {NAME: value} for a value of its own", at, quoted(name))
			continue
		}
		if value, set := r.expand(fmt.Sprintf("%s[%d]", at, i), item, "${"+name+"}"); ok && set {
			r.secrets.Add(value)
			f.tool.Env[name] = value
		}
	}
}

// readCustomTools reads the functions in Python of an agent.
func readCustomTools(r *reader, at string, n *yaml.Node, a *Agent) {
	r.doc.massgen = true
	for i, item := range r.doc.list(at, n, "a list of tools, each with a path and a function") {
		path := fmt.Sprintf("%s[%d]", at, i)
		var f functions
		if !readSection(r, path, item, customToolSection(), &f) {
			continue
		}
		for _, t := range f.each(r.doc, path, item) {
			if slices.ContainsFunc(a.Tools.Custom, func(other CustomTool) bool { return other.Name == t.Name }) {
				r.doc.warn(item, "%s is a second tool %s, and the first counts; give it another name", path, t.Name)
				continue
			}
			r.doc.places[join(at, t.Name)] = item
			a.Tools.Custom = append(a.Tools.Custom, t)
		}
	}
}

// each returns the tools of an entry.
func (f functions) each(d *document, at string, n *yaml.Node) (list []CustomTool) {
	count := len(f.functions)
	if count == 0 {
		d.fail(n, "%s names no function; write function: with its name", at)
		return nil
	}
	for _, l := range []struct {
		key     string
		n       int
		isOfAll bool // one element may be for all functions
	}{{"name", len(f.names), false}, {"description", len(f.descriptions), true}, {"preset_args", len(f.presets), true}, {"default_params", len(f.defaults), true}} {
		if l.n != 0 && l.n != count && (l.n != 1 || !l.isOfAll) {
			d.fail(d.places[join(at, l.key)], "%s.%s has %d elements for %d functions; write one for each", at, l.key, l.n, count)
			return nil
		}
	}
	for i, function := range f.functions {
		t := f.tool
		t.Function = function
		t.Name = CustomToolPrefix + strings.TrimPrefix(elementOr(f.names, i, function), CustomToolPrefix)
		t.Description = elementOr(f.descriptions, i, "")
		t.Presets, t.Defaults = elementOr(f.presets, i, nil), elementOr(f.defaults, i, nil)
		list = append(list, t)
	}
	return list
}

// elementOr returns an element of a list, its only one for each index, or other of an empty list.
func elementOr[T any](list []T, i int, other T) T {
	switch {
	case len(list) == 0:
		return other
	case len(list) == 1:
		return list[0]
	}
	return list[i]
}

// checkCustomTools warns of files that are missing, without reading one, and wants a rule for functions that
// have the network. Files of MassGen's own package are not looked for.
func (k *checker) checkCustomTools(i int, at string) {
	tools := k.config.Agents[i].Tools
	missing := map[string]bool{}
	for _, t := range tools.Custom {
		n := k.places[at+"custom_tools."+t.Name]
		if t.Network && !k.hasRule(i, t.Name) {
			k.fail(n, "%scustom_tools: %s has network: true, which needs a rule in permissions: such as {action: ask, tool: %s}", at, t.Name, t.Name)
		}
		if t.IsMissing() && !missing[t.Path] {
			missing[t.Path] = true
			k.warn(n, "%scustom_tools: %s: there is no such file; its tools are left out", at, t.Path)
		}
	}
}

// hasRule reports whether a permission rule is about a tool of an agent.
func (k *checker) hasRule(agent int, tool string) bool {
	rules := slices.Clone(k.config.Permissions.Rules.Rules)
	for _, g := range k.config.Agents[agent].Tools.Guards {
		rules = append(rules, g.Rules.Rules...)
	}
	for _, rule := range rules {
		if rule.About(tool) {
			return true
		}
	}
	return false
}
