package prices

import (
	"regexp"
	"slices"
	"strings"
)

// Date is the day on which the facts of the table were gathered.
const Date = "2026-11-21"

// Table has the prices and sizes of all models. Nothing changes it after New, so it is
// safe for concurrent use.
type Table struct {
	models  map[string]Model  // by key
	aliases map[string]string // from the key of another name to the model's
	hosted  []hostedFee
}

// New returns the table of this package, changed by overrides, whose keys are
// "provider/model" with the provider's name in a config: openai, claude, gemini and
// so on. Its errors name the override.
func New(overrides map[string]Override) (*Table, error) {
	t, err := parse(builtin)
	if err != nil {
		return nil, err
	}
	if t.hosted, err = parseHosted(builtinHosted); err != nil {
		return nil, err
	}
	if err := t.override(overrides); err != nil {
		return nil, err
	}
	return t, nil
}

// Lookup returns the entry of a model, by its own name, an alias of its provider, or its
// name with a date or "latest" at the end. Every model
// of a provider that runs on the user's own machines is known: it costs nothing. For
// any other model it returns false; a price is never guessed from a similar name.
func (t *Table) Lookup(provider, model string) (Model, bool) {
	name := strings.TrimPrefix(model, "models/") // as Gemini's API lists them
	m, ok := t.named(key(provider, name))
	if !ok {
		m, ok = t.named(key(provider, version.ReplaceAllString(name, "")))
	}
	if ok {
		return m, true
	}
	if isLocal(provider) {
		return Model{Provider: provider, Name: model, Rates: []Rate{{}}}, true
	}
	return Model{}, false
}

// named returns the model of a key, which may be one of its other names.
func (t *Table) named(key string) (Model, bool) {
	m, ok := t.models[key]
	if !ok {
		m, ok = t.models[t.aliases[key]]
	}
	return m, ok
}

// version is what providers add to the name of a model for one state of it:
// claude-sonnet-4-20250514, gpt-5.2-2025-12-11, grok-4.3-latest.
var version = regexp.MustCompile(`[-@](latest|20\d{6}|20\d{2}-\d{2}-\d{2})$`)

func key(provider, model string) string { return provider + "/" + strings.ToLower(model) }

// isLocal reports whether a provider is a program on a machine of the user, or part of this
// program.
func isLocal(provider string) bool {
	switch provider {
	case "ollama", "lmstudio", "vllm", "sglang", "llamacpp", "demo", "simulated":
		return true
	}
	return false
}

// Names returns the names of the models in the table, sorted and each once. Without a provider they
// are those of all providers.
func (t *Table) Names(provider string) []string {
	var names []string
	for _, m := range t.models {
		if provider == "" || m.Provider == provider {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
