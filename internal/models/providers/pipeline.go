package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// LimiterOf returns what keeps the limits of an account.
type LimiterOf func(account string, l retry.Limits) retry.Limiter

// account is a key at an address of a provider, which a provider's limits hold for.
type account struct{ provider, baseURL, key string }

// name tells accounts apart without showing their secrets.
func (a account) name() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", a.provider, a.baseURL, a.key))
	return hex.EncodeToString(sum[:])
}

// wrap puts around an adapter what every call passes: the limits of the provider, with
// repetitions of what failed, then for each attempt the recorder and the price.
func (r *Resolver) wrap(c connection, b backends.Backend) backends.Backend {
	b = r.prices.Wrap(c.provider, b)
	if r.record != nil {
		b = r.record.Wrap(b)
	}
	watch := r.watch()
	watch.Expect(c.provider, c.model)
	return retry.New(b, r.gate(c), retry.Options{MaxAttempts: r.Config.Providers[c.provider].MaxCallAttempts, Most: r.most(c.provider), OwnLimit: c.ownLimit, Watch: watch})
}

func (r *Resolver) gate(c connection) *retry.Gate {
	of := account{c.provider, c.baseURL, c.key}
	if r.gates[of] == nil {
		own := r.Config.Providers[c.provider]
		limits := retry.Limits{
			Concurrent: own.MaxConcurrentCalls, RequestsPerMinute: own.RequestsPerMinute, TokensPerMinute: own.TokensPerMinute,
		}
		limiter := retry.NewLimiter(limits)
		if r.limits != nil && limits.Any() {
			limiter = r.limits(of.name(), limits)
		}
		r.gates[of] = retry.NewGate(c.provider, limits, limiter).Watched(r.watch())
	}
	return r.gates[of]
}

// watch returns what logs and counts the calls.
func (r *Resolver) watch() *retry.Watch { return &retry.Watch{Log: r.Log, Metrics: r.Metrics} }
