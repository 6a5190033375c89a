package providers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// checkParams returns an error for what a configuration asks of a model that it
// cannot take. It wraps a *backends.ParamError if one key is at fault.
func checkParams(p provider, c connection, b configs.Backend) error {
	c.api = p.api(c, b)
	err := p.check(c, b)
	if err == nil && b.Params.ReasoningTokens != nil && b.Params.ReasoningEffort != "" {
		err = backends.NewParamError("budget_tokens", "it takes the place of an effort: keep one of the two")
	}
	if err == nil && b.Params.CacheTTL != "" && !p.marksCache() {
		err = backends.NewParamError("cache_ttl", "only Claude lets a request say how long it caches the prompt: leave it out")
	}
	if err == nil && b.APIVersion != "" && p.name != azureType {
		err = backends.NewParamError("api_version", "only %s has one: leave it out", azureType)
	}
	if _, isChat := p.protocol.(chat); err == nil && b.API != "" && !isChat && p.name != azureType {
		err = backends.NewParamError("api", "only services that speak as OpenAI does have a choice: leave it out")
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("type %s: %w", p.name, err)
}

// marksCache reports whether the provider lets a request say how long it caches the prompt.
func (p provider) marksCache() bool {
	switch p.protocol.(type) {
	case claude, demo, simulated:
		return true
	}
	return false
}

// Placed is the text of an error about a backend, with the place in the configuration
// before it if one key is at fault.
func Placed(placeOf func(key string) string, err error) string {
	var param *backends.ParamError
	if errors.As(err, &param) {
		if place := placeOf(param.Param); place != "" {
			return place + ": " + err.Error()
		}
	}
	return err.Error()
}

// standIn is a fallback with the parameters that it is called with: those of the
// backend in whose place it stands, but for what is written for one service and what
// the others ignore.
func standIn(first, fallback configs.Backend) configs.Backend {
	own := fallback.Params
	fallback.Params = first.Params
	fallback.Params.CacheTTL = ""
	fallback.Params.Headers, fallback.Params.ExtraBody = own.Headers, own.ExtraBody
	fallback.ToolMode = first.ToolMode
	return fallback
}

// unknownType names the nearest type that there is.
func unknownType(name string) error {
	types := backendTypes()
	cure := "it is one of " + strings.Join(types, ", ")
	if near, ok := configs.Nearest(name, types); ok && !slices.Contains(types, name) {
		cure = "did you mean " + near + "? --list-backends lists them"
	}
	return fmt.Errorf("type %s is not known: %s", name, cure)
}
