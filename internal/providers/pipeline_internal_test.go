package providers

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/retry"
)

// TestSharedLimits: what keeps limits for many is asked once for each account that has
// some, by a name that has no key in it.
func TestSharedLimits(t *testing.T) {
	config := configs.Default()
	config.Providers = map[string]configs.Provider{"openai": {RequestsPerMinute: 7, TokensPerMinute: 100, MaxConcurrentCalls: 2}}
	asked := map[string]int{}
	shared := func(account string, l retry.Limits) retry.Limiter {
		asked[account]++
		if l != (retry.Limits{Concurrent: 2, RequestsPerMinute: 7, TokensPerMinute: 100}) {
			t.Errorf("limits %+v", l)
		}
		return retry.NewLimiter(l)
	}
	r, err := New(Settings{Config: config, Shared: shared})
	if err != nil {
		t.Fatal(err)
	}
	const key = "sk-canary-1234567890"
	for _, c := range []connection{
		{provider: "openai", key: key, model: "one"}, {provider: "openai", key: key, model: "two"},
		{provider: "openai", key: "sk-another-1234567890"}, {provider: "openai", key: key, baseURL: "https://example.com"},
		{provider: "claude", key: key},
	} {
		r.gate(c)
	}
	if len(asked) != 3 {
		t.Errorf("asked for %v", asked)
	}
	for account, n := range asked {
		if n != 1 || strings.Contains(account, "canary") || len(account) != 64 {
			t.Errorf("asked %d times for %q", n, account)
		}
	}
}
