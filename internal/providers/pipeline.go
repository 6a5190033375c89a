package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/internal/prices"
	"github.com/massgen/massgen/internal/retry"
	"github.com/massgen/massgen/internal/tokens"
)

// pipeline is what a call passes on its way to an adapter, whoever makes it: the
// limits of the provider, with repetitions of what failed, then for each attempt
// the recorder and the price.
type pipeline struct {
	settings map[string]configs.Provider
	prices   *prices.Table
	record   *debugbackend.Recorder // nil when nobody wants to see inputs
	budget   budget.Budget
	gates    map[account]*retry.Gate
	shared   LimiterOf // as in Settings

	vocabularies *tokens.Vocabularies
}

// LimiterOf returns what keeps the limits of an account.
type LimiterOf func(account string, l retry.Limits) retry.Limiter

// account is what a provider's limits hold for.
type account struct{ provider, baseURL, key string }

// name tells accounts apart without telling what is secret of them.
func (a account) name() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", a.provider, a.baseURL, a.key))
	return hex.EncodeToString(sum[:])
}

func newPipeline(s Settings) (pipeline, error) {
	table, err := prices.New(s.Config.Prices)
	return pipeline{
		settings: s.Config.Providers, prices: table, record: s.Record, budget: s.Config.Budget, shared: s.Shared,
		gates: map[account]*retry.Gate{}, vocabularies: tokens.New(),
	}, err
}

func (s pipeline) wrap(c connection, b backends.Backend) backends.Backend {
	b = s.prices.Wrap(c.provider, b)
	if s.record != nil {
		b = s.record.Wrap(b)
	}
	return retry.New(b, s.gate(c), retry.Options{MaxAttempts: s.settings[c.provider].MaxCallAttempts, Most: s.most(c.provider)})
}

func (s pipeline) gate(c connection) *retry.Gate {
	of := account{c.provider, c.baseURL, c.key}
	if s.gates[of] == nil {
		own := s.settings[c.provider]
		limits := retry.Limits{
			Concurrent: own.MaxConcurrentCalls, RequestsPerMinute: own.RequestsPerMinute, TokensPerMinute: own.TokensPerMinute,
		}
		limiter := retry.NewLimiter(limits)
		if s.shared != nil && limits.Any() {
			limiter = s.shared(of.name(), limits)
		}
		s.gates[of] = retry.NewSharedGate(c.provider, limits, limiter)
	}
	return s.gates[of]
}
