package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/models/prices"
)

// providers reads the settings of each provider that is named.
func (r *reader) providers(at string, n *yaml.Node, c *Config) {
	c.Providers = map[string]Provider{}
	for _, e := range r.doc.entries(at, n) {
		name := e.key.Value
		if !r.isProvider(e.key, join(at, name), name) {
			continue
		}
		var p Provider
		readSection(r, join(at, name), e.value, providerSection(), &p)
		c.Providers[name] = p
	}
}

// prices reads the prices and sizes of models.
func (r *reader) prices(at string, n *yaml.Node, c *Config) {
	c.Prices = map[string]prices.Override{}
	first := map[string]*yaml.Node{}
	for _, e := range r.doc.entries(at, n) {
		name := e.key.Value
		if same := first[strings.ToLower(name)]; same != nil {
			r.doc.fail(e.key, "%s is given twice (case does not count), first on line %d; keep one", join(at, name), same.Line)
			continue
		}
		first[strings.ToLower(name)] = e.key
		var o prices.Override
		ok := readSection(r, join(at, name), e.value, priceSection(), &o)
		provider, model, _ := strings.Cut(name, "/")
		if !ok || model != "" && !r.isProvider(e.key, join(at, name), provider) {
			continue
		}
		if _, err := prices.New(map[string]prices.Override{name: o}); err != nil {
			r.doc.fail(e.key, "%s", err)
			continue
		}
		c.Prices[name] = o
	}
}

// fallback reads a list of models, each a mapping or a text: TYPE/MODEL, TYPE or MODEL.
func (r *reader) fallback(at string, n *yaml.Node, b *Backend) {
	for i, item := range r.doc.list(at, n, "a list of models, each TYPE/MODEL or a mapping with type and model") {
		path, before := fmt.Sprintf("%s[%d]", at, i), len(r.doc.issues)
		var choice Backend
		if deref(item).Kind == yaml.MappingNode {
			readSection(r, path, item, fallbackSection(), &choice)
		} else if name, ok := parseScalar(r, path, item, textParser()); ok {
			choice = r.namedModel(name)
		}
		if choice.Type == "" && choice.Model == "" && len(r.doc.issues) == before {
			r.doc.fail(item, "%s names no model; write TYPE/MODEL, or a mapping with type or model", path)
		}
		b.Fallback = append(b.Fallback, choice)
	}
}

// namedModel splits "claude/claude-opus-5" into type and model. It leaves
// "openai-community/gpt2" whole, because its first part is no type.
func (r *reader) namedModel(name string) Backend {
	if typ, model, _ := strings.Cut(name, "/"); slices.Contains(r.opts.BackendTypes, typ) {
		return Backend{Type: typ, Model: model}
	}
	return Backend{Model: name}
}

// isProvider is isOneOf without auto, which is a choice among providers.
func (r *reader) isProvider(n *yaml.Node, at, name string) bool {
	if name == auto {
		r.doc.fail(n, "%s says nothing of any provider: name the type that auto comes to", at)
		return false
	}
	others := slices.DeleteFunc(slices.Clone(r.opts.BackendTypes), func(typ string) bool { return typ == auto })
	return r.isOneOf(n, at, name, others)
}

// auto is the type that is a choice among the others.
const auto = "auto"

// isBackendType reports whether a name is a backend type, after an issue if it is not.
func (r *reader) isBackendType(n *yaml.Node, at, name string) bool {
	types := r.opts.BackendTypes
	if len(types) == 0 || slices.Contains(types, name) {
		return r.isOneOf(n, at, name, types)
	}
	cure := Backend{Type: name}.Program()
	if cure != "" && r.inProgram {
		r.doc.massgen = true
		r.doc.warn(n, "%s is %s, a program that is not run here, so that a run ends before any call; %s (docs/migration.md)", at, quoted(name), cure)
		return true
	}
	if cure = cmp.Or(cure, missingTypes()[name]); cure != "" {
		r.doc.fail(n, "%s is %s, which is a backend of MassGen and none here; %s (docs/migration.md)", at, quoted(name), cure)
		return false
	}
	return r.isOneOf(n, at, name, types)
}

// Program returns what to write in place of a type of MassGen that runs a program of others with tools of its
// own, "" for other types. A config may name such a type, but no run can start with it.
func (b Backend) Program() (cure string) {
	const withTools = " with cwd: and enable_mcp_command_line: true"
	switch b.Type {
	case "claude_code":
		return "write type: claude" + withTools
	case "codex":
		return "write type: openai" + withTools
	case "gemini_cli", "antigravity_cli":
		return "write type: gemini" + withTools
	case "copilot":
		return "write another type" + withTools
	}
	return ""
}

// missingTypes are types of MassGen that are not here, with what to write in their place.
func missingTypes() map[string]string {
	return map[string]string{
		"ag2":       "write the provider and model of its llm_config in type: and model:",
		"inference": "write type: vllm, sglang or chatcompletion with base_url:",
		"uitars":    "write type: chatcompletion with base_url:",
	}
}

func (r *reader) isOneOf(n *yaml.Node, at, name string, types []string) bool {
	if name != "" && (len(types) == 0 || slices.Contains(types, name)) {
		return true
	}
	cure := "it must be one of " + strings.Join(types, ", ")
	if near, ok := Nearest(name, types); ok {
		cure = fmt.Sprintf("did you mean %s?", near)
	}
	r.doc.fail(n, "%s is %s, which is no backend here; %s", at, quoted(name), cure)
	return false
}
