package wire

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
)

// TestTimesOfResets reads the times of resets as services send them without Retry-After.
func TestTimesOfResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		openRouter := func(reset string) string {
			return `{"error":{"message":"Rate limit exceeded: free-models-per-min. ","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"20","X-RateLimit-Remaining":"0","X-RateLimit-Reset":` + reset + `}}}}`
		}
		says := func(message string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, message) }
		in9s := now.Add(9 * time.Second)
		for _, c := range []struct {
			name   string
			header http.Header
			body   string
			want   time.Duration
		}{
			{"OpenRouter's milliseconds", nil, openRouter(fmt.Sprintf(`"%d"`, in9s.UnixMilli())), 9 * time.Second},
			{"a number", nil, openRouter(fmt.Sprint(in9s.UnixMilli())), 9 * time.Second},
			{"seconds since 1970", nil, openRouter(fmt.Sprint(in9s.Unix())), 9 * time.Second},
			{"a day", nil, openRouter(fmt.Sprint(now.Add(10 * time.Hour).UnixMilli())), 10 * time.Hour},
			{"a list", nil, openRouter(`["9"]`), 9 * time.Second},
			{"a time that has passed", nil, openRouter(fmt.Sprint(now.UnixMilli() - 5)), 0},
			{"by the service's clock", http.Header{"Date": {now.Add(time.Hour).UTC().Format(http.TimeFormat)}}, openRouter(fmt.Sprint(in9s.Add(time.Hour).UnixMilli())), 9 * time.Second},
			{"words", nil, says("Rate limit reached on tokens per min. Please try again in 9s. Visit x."), 9 * time.Second},
			{"words with a fraction", nil, says("Please try again in 1m30.5s."), 90*time.Second + 500*time.Millisecond},
			{"milliseconds in words", nil, says("Please try again in 320ms."), 320 * time.Millisecond},
			{"Azure's words", nil, says("Please retry after 26 seconds."), 26 * time.Second},
			{"two units", nil, says("Try again in 2 minutes and 5 seconds"), 125 * time.Second},
			{"wait", nil, says("Too many requests, please wait 1 minute."), time.Minute},
			{"days", nil, says("The limit resets in 2 days, 1 hour."), 49 * time.Hour},
			{"no time in words", nil, says("Try again in 5 models."), 0},
			{"a plain number", nil, says("Limit 30, Used 29. Try again later."), 0},
			{"a field", nil, `{"error":{"message":"no","retry_after":9}}`, 9 * time.Second},
			{"a field at the top", nil, `{"error":"no","retry_after_ms":9000}`, 9 * time.Second},
			{"a field of the metadata", nil, `{"error":{"message":"no","metadata":{"retry_after_seconds":9}}}`, 9 * time.Second},
			{"Codex's field", nil, `{"error":{"type":"usage_limit_reached","message":"no","resets_in_seconds":7200}}`, 2 * time.Hour},
			{"the header of requests", http.Header{"X-Ratelimit-Reset-Requests": {"9s"}}, says("no"), 9 * time.Second},
			{"the exhausted one of two", http.Header{
				"X-Ratelimit-Reset-Requests": {"9s"}, "X-Ratelimit-Remaining-Requests": {"0"},
				"X-Ratelimit-Reset-Tokens": {"6m0s"}, "X-Ratelimit-Remaining-Tokens": {"149984"},
			}, says("no"), 9 * time.Second},
			{"the one that the words name", http.Header{
				"X-Ratelimit-Reset-Requests": {"23h0m0s"}, "X-Ratelimit-Remaining-Requests": {"9999"},
				"X-Ratelimit-Reset-Tokens": {"9s"}, "X-Ratelimit-Remaining-Tokens": {"500"},
			}, says("Rate limit reached on tokens per min (TPM): Limit 10000, Used 9500, Requested 1200."), 9 * time.Second},
			{"the longer one", http.Header{"X-Ratelimit-Reset-Requests": {"1s"}, "X-Ratelimit-Reset-Tokens": {"9s"}}, says("no"), 9 * time.Second},
			{"Claude's header", http.Header{"Anthropic-Ratelimit-Requests-Reset": {in9s.UTC().Format(time.RFC3339)}, "Anthropic-Ratelimit-Requests-Remaining": {"0"}}, says("no"), 9 * time.Second},
			{"limits with something left", http.Header{"X-Ratelimit-Reset-Requests": {"9s"}, "X-Ratelimit-Remaining-Requests": {"5"}}, says("no"), 0},
			{"Retry-After comes first", http.Header{"Retry-After": {"3"}, "X-Ratelimit-Reset-Requests": {"9s"}}, says("Please try again in 7s."), 3 * time.Second},
			{"words come before the headers of limits", http.Header{"X-Ratelimit-Reset-Requests": {"9s"}}, says("Please try again in 7s."), 7 * time.Second},
		} {
			got := &backends.Error{}
			describe(got, &statusError{status: 429, header: c.header, body: []byte(c.body)}, redactor{})
			if diff := got.RetryAfter - c.want; diff.Abs() > time.Millisecond {
				t.Errorf("%s: %s, want %s", c.name, got.RetryAfter, c.want)
			}
		}
	})
}

// TestResetsOfOtherFailures: services send the headers of their limits with each answer, and a spent
// quota stays spent.
func TestResetsOfOtherFailures(t *testing.T) {
	header := http.Header{"X-Ratelimit-Reset-Requests": {"9s"}}
	got := &backends.Error{}
	describe(got, &statusError{status: 500, header: header, body: []byte(`{"error":{"message":"no"}}`)}, redactor{})
	if got.RetryAfter != 0 {
		t.Errorf("an error of the service waits for a limit: %s", got.RetryAfter)
	}
	got = &backends.Error{}
	describe(got, &statusError{status: 429, header: header, body: []byte(`{"error":{"message":"You exceeded your current quota."}}`)}, redactor{})
	if got.RetryAfter != 0 || !got.QuotaSpent {
		t.Errorf("a spent quota waits for a limit: %+v", got)
	}
}

// TestResetInAStream: an error within HTTP 200 has the time in its body as well.
func TestResetInAStream(t *testing.T) {
	got := &backends.Error{}
	describe(got, &StreamError{Body: []byte(`{"error":{"message":"no","code":429,"metadata":{"headers":{"X-RateLimit-Reset":"9"}}}}`)}, redactor{})
	if got.RetryAfter != 9*time.Second {
		t.Errorf("it waits %s", got.RetryAfter)
	}
}
