package retry

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/prices"
)

// Bucket returns how a limit on what is spent in a minute is kept: by a bucket that
// holds burst, and into which inflow flows in the course of a minute. Providers count
// in different ways: over a minute that slides, over one that begins anew, or with
// a bucket that fills again. A bucket of a quarter of the limit, into which the
// rest flows, is within all of them. Only what is larger than a quarter may go over,
// by the difference: it waits for a full bucket and leaves a debt that the next ones
// wait for.
func Bucket(limit int) (burst, inflow int) {
	burst = max(limit/4, 1)
	return burst, limit - burst + 1 // the last of them at the minute's end
}

// perMinute is a limit on what is spent in a minute. A nil perMinute does not limit. It is
// safe for concurrent use.
type perMinute struct{ bucket *rate.Limiter }

func newPerMinute(limit int) *perMinute {
	if limit <= 0 {
		return nil
	}
	burst, inflow := Bucket(limit)
	return &perMinute{rate.NewLimiter(rate.Limit(float64(inflow)/time.Minute.Seconds()), burst)}
}

// delay returns how long it takes until n may be spent, if nobody spends anything.
func (p *perMinute) delay(now time.Time, n int) time.Duration {
	if p == nil {
		return 0
	}
	missing := float64(min(n, p.bucket.Burst())) - p.bucket.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing/float64(p.bucket.Limit())*float64(time.Second)) + 1
}

// spend books n, which gives back what was booked if it is negative.
func (p *perMinute) spend(now time.Time, n int) {
	if p == nil {
		return
	}
	for most := p.bucket.Burst(); n > most; n -= most {
		p.bucket.ReserveN(now, most)
	}
	p.bucket.ReserveN(now, n)
}

// estimate returns about how many tokens a request may take: its input, at three bytes a
// token, and the most output that it asks for.
func estimate(req backends.Request) int {
	tokens := prices.Counter{}.Request(req).Tokens
	if req.Params.MaxTokens != nil {
		tokens += *req.Params.MaxTokens
	}
	return tokens
}
