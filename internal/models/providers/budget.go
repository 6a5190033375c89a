package providers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/prices"
)

// budgetedOutput is the most output of a call that does not say how much it may have,
// where there is a budget (DESIGN §6), or where the model is local: a small model may fill its
// whole context with one reply.
const budgetedOutput = 8192

// Bounded returns the parameters with a limit of output, which a budget has to know before a call is
// sent, and which a local model needs. Other calls, and those that have a limit, stay as they are.
func (r *Resolver) Bounded(m Model, p backends.Params) backends.Params {
	if r.Config.Budget.None() && !m.Local || p.MaxTokens != nil {
		return p
	}
	most := budgetedOutput
	if m.MaxOutput > 0 {
		most = min(most, m.MaxOutput)
	}
	p.MaxTokens = &most
	return p
}

// checkPrice refuses a model of unknown price where money is limited.
func (r *Resolver) checkPrice(provider, model string) error {
	if !r.Config.Budget.Priced() {
		return nil
	}
	if known, _ := r.prices.Lookup(provider, model); len(known.Rates) == 0 {
		return fmt.Errorf("max_usd needs to know what %s/%s costs, and no table has it: state it with the key prices", provider, model)
	}
	return nil
}

// costly are the parameters, in all spellings of the services, that change what a call costs
// at most: which model answers, how often and how long, what it is sent, and what it may use.
func costly() []string {
	return []string{
		"model", "models", "n", "bestof", "numcompletions", "candidatecount",
		"maxtokens", "maxcompletiontokens", "maxoutputtokens", "maxnewtokens", "numpredict", "servicetier", "speed",
		"messages", "input", "prompt", "contents", "system", "systeminstruction", "cachedcontent", "previousresponseid", "conversation",
		"tools", "plugins", "websearch", "websearchoptions", "enablesearch", "searchparameters", "modalities", "audio", "mcpservers", "container",
		"maxtoolcalls", "inferencegeo",
	}
}

// checkExtra refuses, where there is a budget, what it could not see: extra_body is added to a
// request after that was reckoned.
func (r *Resolver) checkExtra(body map[string]any) error {
	if r.Config.Budget.None() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		plain := strings.ToLower(strings.ReplaceAll(name, "_", ""))
		if slices.Contains(costly(), plain) {
			return backends.NewParamError("extra_body", "%s changes what a call may cost, and the budget could not see that: write it as a key of the backend, where there is one, or leave it or the budget out", name)
		}
		if err := r.checkInner(body[name]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Resolver) checkInner(value any) (err error) {
	switch v := value.(type) {
	case map[string]any:
		err = r.checkExtra(v)
	case []any:
		for _, item := range v {
			err = cmp.Or(err, r.checkInner(item))
		}
	}
	return err
}

// most returns the most that an attempt may cost. Its input never counts less than three bytes a
// token: a service may count more than the tokenizer here.
func (r *Resolver) most(provider string) func(backends.Request) backends.Cost {
	return func(req backends.Request) backends.Cost {
		input := max(r.vocabularies.Counter(provider, req.Model).Request(req).Tokens, prices.Counter{}.Request(req).Tokens)
		output := budgetedOutput
		if req.Params.MaxTokens != nil {
			output = *req.Params.MaxTokens
		}
		model, _ := r.prices.Lookup(provider, req.Model)
		tokens := model.Most(input, output, req.Params.CachesForHour())
		return backends.Cost{Tokens: input + output, USD: prices.Sum(tokens, r.prices.HostedMost(provider, req.Model, req.Params.Hosted))}
	}
}
