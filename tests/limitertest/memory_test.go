package limitertest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/tests/leaks"
	"github.com/massgen/massgen/tests/limitertest"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestMemory(t *testing.T) {
	limitertest.Run(t, limitertest.Suite{
		Open: func(_ *testing.T, l retry.Limits, _ time.Duration) [2]retry.Limiter {
			one := retry.NewLimiter(l)
			return [2]retry.Limiter{one, one}
		},
		Booked: func(*testing.T, backends.Reservation) time.Time { return time.Now() },
		Short:  time.Minute, Long: time.Minute,
		Seeds: 100,
		In:    synctest.Test,
	})
}
