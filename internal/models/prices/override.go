package prices

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// Override is what a config says about a model. A nil field keeps the table's value.
// Prices are in US dollars per million tokens and hold for calls of any length. Input and output have a price both or neither; cached input and
// cache writes cost as much as input if they have no price of their own.
type Override struct {
	Input       *float64 `yaml:"input"`
	CachedInput *float64 `yaml:"cached_input"`
	CacheWrite  *float64 `yaml:"cache_write"`
	Output      *float64 `yaml:"output"`
	// WebSearch is the price of a search by the provider, CodeExecution the price of a model call
	// whose code the provider runs, in US dollars.
	WebSearch     *float64 `yaml:"web_search"`
	CodeExecution *float64 `yaml:"code_execution"`
	ContextWindow *int     `yaml:"context_window"`
	MaxOutput     *int     `yaml:"max_output"`
}

// override changes models by overrides, in the order of their keys.
func (t *Table) override(overrides map[string]Override) error {
	for _, k := range slices.Sorted(maps.Keys(overrides)) {
		provider, name, ok := strings.Cut(k, "/")
		if !ok || provider == "" || name == "" {
			return fmt.Errorf("prices: %q should be provider/model", k)
		}
		m, _ := t.Lookup(provider, name)
		m.Provider, m.Name = provider, name
		if err := overrides[k].change(&m); err != nil {
			return fmt.Errorf("prices: %s: %w", k, err)
		}
		t.models[key(provider, name)] = m
	}
	return nil
}

// change changes m by o.
func (o Override) change(m *Model) error {
	if err := setSize(&m.ContextWindow, "context_window", o.ContextWindow); err != nil {
		return err
	}
	if err := setSize(&m.MaxOutput, "max_output", o.MaxOutput); err != nil {
		return err
	}
	if err := o.changeHosted(m); err != nil {
		return err
	}
	if cmp.Or(o.Input, o.CachedInput, o.CacheWrite, o.Output) == nil {
		return nil
	}
	if o.Input == nil || o.Output == nil {
		return errors.New("input and output should both have a price")
	}
	r := Rate{Input: *o.Input, CachedInput: *cmp.Or(o.CachedInput, o.Input), CacheWrite: *cmp.Or(o.CacheWrite, o.Input), Output: *o.Output}
	for _, price := range []float64{r.Input, r.CachedInput, r.CacheWrite, r.Output} {
		if !isPrice(price) {
			return fmt.Errorf("%v is no price in US dollars per million tokens", price)
		}
	}
	m.Rates = []Rate{r}
	return nil
}

// changeHosted sets what hosted tools cost with m to what o says. It leaves other models as they
// are: m may be a copy of one, under another name.
func (o Override) changeHosted(m *Model) error {
	fees := maps.Clone(m.Hosted)
	for tool, fee := range map[string]*float64{backends.WebSearch: o.WebSearch, backends.CodeExecution: o.CodeExecution} {
		if fee == nil {
			continue
		}
		if !isPrice(*fee) {
			return fmt.Errorf("%s is %v: it should be a price in US dollars", tool, *fee)
		}
		if fees == nil {
			fees = map[string]Fee{}
		}
		fees[tool] = Fee{USD: *fee, PerCall: tool == backends.CodeExecution}
	}
	m.Hosted = fees
	return nil
}

func setSize(size *int, name string, stated *int) error {
	if stated == nil {
		return nil
	}
	if *stated <= 0 {
		return fmt.Errorf("%s is %d: it should be a number of tokens", name, *stated)
	}
	*size = *stated
	return nil
}

func isPrice(p float64) bool { return p >= 0 && !math.IsInf(p, 1) }
