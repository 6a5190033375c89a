package server

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Limits are the limits of turns. 0 is no limit.
type Limits struct {
	// Runs is the highest number of running turns, RunsEach the highest for one token.
	Runs, RunsEach int
	// PerMinute is the highest number of turns that a token may begin in a minute.
	PerMinute int
}

// limiter counts the running turns. All requests without a token count as one token's.
type limiter struct {
	Limits
	mu    sync.Mutex
	runs  int
	users map[string]*use
}

// use counts the turns of one token.
type use struct {
	runs int
	// left is the number of turns that could begin at once at the time at.
	left float64
	at   time.Time
}

// retryLater is the time to wait while other turns run.
const retryLater = 5 * time.Second

// begin reserves a turn of a token until the caller calls done, with whether the turn has begun. A turn that has not
// begun does not count.
func (l *limiter) begin(token string) (done func(begun bool), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.users[token]
	if u == nil {
		u = &use{left: float64(l.PerMinute)}
		l.users[token] = u
	}
	switch wait := u.wait(l.PerMinute); {
	case l.Runs > 0 && l.runs >= l.Runs:
		return nil, tooMany(fmt.Sprintf("%d turns run, as many as the server takes: ask again later", l.runs), retryLater)
	case l.RunsEach > 0 && u.runs >= l.RunsEach:
		return nil, tooMany(fmt.Sprintf("%d turns of this token run, as many as it may have: ask again later", u.runs), retryLater)
	case wait > 0:
		return nil, tooMany(fmt.Sprintf("this token may begin %d turns in a minute: ask again later", l.PerMinute), wait)
	}
	l.runs++
	u.runs++
	u.left--
	var once sync.Once
	return func(begun bool) {
		once.Do(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.runs--
			u.runs--
			if !begun {
				u.left++
			}
		})
	}, nil
}

// wait returns the time until a turn may begin.
func (u *use) wait(perMinute int) time.Duration {
	if perMinute <= 0 {
		return 0
	}
	now := time.Now()
	u.left = min(float64(perMinute), u.left+now.Sub(u.at).Minutes()*float64(perMinute))
	u.at = now
	if u.left >= 1 {
		return 0
	}
	return time.Duration((1 - u.left) / float64(perMinute) * float64(time.Minute))
}

func tooMany(message string, wait time.Duration) refusal {
	return refusal{status: http.StatusTooManyRequests, code: codeRateLimit, message: message, retryAfter: wait}
}
