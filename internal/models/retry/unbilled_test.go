package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// TestWhatWaitsCostsNothing: neither what was never sent, nor what the service
// answered with an error before it would have been sent again. What broke without an
// answer may have been billed, also if it waited after that.
func TestWhatWaitsCostsNothing(t *testing.T) {
	refused := outcome{err: &backends.Error{Kind: backends.KindRateLimit, Provider: "script", Status: 429}}
	broken := failing(backends.KindNetwork)
	oneAMinute, oneFailure := retry.Limits{RequestsPerMinute: 1}, retry.Limits{Failures: 1}
	for name, c := range map[string]struct {
		limits  retry.Limits
		before  int // calls that end before
		outcome outcome
		want    bool
	}{
		"at the gate":                    {oneAMinute, 1, well(), true},
		"at the gate, after a refusal":   {oneAMinute, 0, refused, true},
		"at the gate, after a break":     {oneAMinute, 0, broken, false},
		"by the breaker":                 {oneFailure, 1, broken, true},
		"by the breaker, after a break":  {oneFailure, 0, broken, false},
		"between attempts":               {retry.Limits{}, 0, refused, true},
		"between attempts after a break": {retry.Limits{}, 0, broken, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := retry.New(&script{outcomes: []outcome{c.outcome}}, newGate("gate", c.limits), retry.Options{Random: fixed(1)})
			together(t, b, c.before)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(2500*time.Millisecond, cancel)
			if _, e := call(ctx, t, b); e == nil || e.Unbilled() != c.want {
				t.Errorf("%s: unbilled is not %t: %v", name, c.want, e)
			}
		})
	}
}
