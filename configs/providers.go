package configs

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/backends/prices"
)

// providers reads the settings of each provider that is named.
func (r *reader) providers(at string, n *yaml.Node, c *Config) {
	c.Providers = map[string]Provider{}
	for _, e := range r.entries(at, n) {
		name := e.key.Value
		if !r.isBackendType(e.key, join(at, name), name) {
			continue
		}
		var p Provider
		readSection(r, join(at, name), e.value, providerSection(), &p)
		c.Providers[name] = p
	}
}

// prices reads what the file says of models.
func (r *reader) prices(at string, n *yaml.Node, c *Config) {
	c.Prices = map[string]prices.Override{}
	for _, e := range r.entries(at, n) {
		name, before := e.key.Value, len(r.issues)
		var o prices.Override
		readSection(r, join(at, name), e.value, priceSection(), &o)
		if len(r.issues) > before {
			continue
		}
		if _, err := prices.New(map[string]prices.Override{name: o}); err != nil {
			r.fail(e.key, "%s", err)
			continue
		}
		c.Prices[name] = o
	}
}

// fallback takes a list of models, each as a mapping, or as a text: TYPE/MODEL, TYPE
// or MODEL.
func (r *reader) fallback(at string, n *yaml.Node, b *Backend) {
	n = deref(n)
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "%s is %s; it must be a list of models, each TYPE/MODEL or a mapping with type and model", at, kindName(n))
		return
	}
	for i, item := range n.Content {
		b.Fallback = append(b.Fallback, r.choice(fmt.Sprintf("%s[%d]", at, i), item))
	}
}

// choice reads one model, as a mapping or as a text: TYPE/MODEL, TYPE or MODEL.
func (r *reader) choice(at string, n *yaml.Node) Backend {
	var choice Backend
	before := len(r.issues)
	if deref(n).Kind == yaml.MappingNode {
		readSection(r, at, n, fallbackSection(), &choice)
	} else if name, ok := parseScalar(r, at, n, textParser()); ok {
		choice = r.namedModel(name)
	}
	if choice.Type == "" && choice.Model == "" && len(r.issues) == before {
		r.fail(n, "%s names no model; write TYPE/MODEL, or a mapping with type or model", at)
	}
	return choice
}

// namedModel knows the type of "claude/claude-opus-5", and none of
// "openai-community/gpt2", whose first part is no type.
func (r *reader) namedModel(name string) Backend {
	if typ, model, _ := strings.Cut(name, "/"); slices.Contains(r.opts.BackendTypes, typ) {
		return Backend{Type: typ, Model: model}
	}
	return Backend{Model: name}
}

// isBackendType says whether a name is a backend type, after an issue if it is not.
func (r *reader) isBackendType(n *yaml.Node, at, name string) bool {
	if name != "" && (len(r.opts.BackendTypes) == 0 || slices.Contains(r.opts.BackendTypes, name)) {
		return true
	}
	cure := "it must be one of " + strings.Join(r.opts.BackendTypes, ", ")
	if near, ok := Nearest(name, r.opts.BackendTypes); ok {
		cure = fmt.Sprintf("did you mean %s?", near)
	}
	r.fail(n, "%s is %s, which is no backend here; %s", at, quoted(name), cure)
	return false
}
