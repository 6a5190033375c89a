package wire

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// TestReports reads error objects as services write them.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int // 0 for an error inside of a stream
		body    string
		kind    backends.Kind
		message string
		wait    time.Duration
	}{
		{"OpenAI", 401, `{"error":{"message":"no","type":"invalid_request_error","code":"invalid_api_key"}}`, backends.KindAuth, "no", 0},
		{"OpenAI in a stream", 0, `{"error":{"message":"no","type":"server_error","code":null}}`, backends.KindOverloaded, "no", 0},
		{"a text", 400, `{"error":"no"}`, backends.KindBadRequest, "no", 0},
		{"fields at the top", 404, `{"object":"error","message":"no","code":404}`, backends.KindBadRequest, "no", 0},
		{"no JSON", 502, `<h1>Bad</h1> gateway`, backends.KindOverloaded, "Bad gateway", 0},
		{
			"Google's quota", 429,
			`{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[
				{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"PerMinute"}]},
				{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"8.5s"}]}}`,
			backends.KindRateLimit, "slow", 8500 * time.Millisecond,
		},
		{
			"Google's quota in a stream", 0,
			`{"error":{"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"2s"}]}}`,
			backends.KindRateLimit, "slow", 2 * time.Second,
		},
		{
			"Google's wrong key", 400,
			`{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[
				{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`,
			backends.KindAuth, "API key not valid.", 0,
		},
		{
			"Google's context", 400,
			`[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}]`,
			backends.KindTooLong, "The input token count (9) exceeds the maximum number of tokens allowed (8).", 0,
		},
		{"Google's bad request in a stream", 0, `{"error":{"message":"no","status":"INVALID_ARGUMENT"}}`, backends.KindBadRequest, "no", 0},
		{"Google's overload", 503, `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`, backends.KindOverloaded, "busy", 0},
		{"OpenAI's limit that the request exceeds", 429, `{"error":{"message":"` + requestTooLarge + `","type":"tokens","code":"rate_limit_exceeded"}}`, backends.KindTooLong, requestTooLarge, 0},
		{"the same in a stream", 0, `{"error":{"message":"` + requestTooLarge + `","type":"tokens","code":"rate_limit_exceeded"}}`, backends.KindTooLong, requestTooLarge, 0},
		{"details of another kind", 400, `{"error":{"message":"no","details":"see the manual"}}`, backends.KindBadRequest, "no", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := &backends.Error{Kind: backends.KindNetwork}
			var failure error = &StreamError{Body: []byte(c.body)}
			if c.status != 0 {
				failure = &statusError{status: c.status, header: http.Header{}, body: []byte(c.body)}
			}
			describe(got, failure, redactor{})
			want := &backends.Error{Kind: c.kind, Message: c.message, RetryAfter: c.wait, Status: c.status}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRetryAfterOfTheHeaderComesFirst(t *testing.T) {
	got := &backends.Error{}
	describe(got, &statusError{
		status: 429,
		header: http.Header{"Retry-After": {"3"}},
		body:   []byte(`{"error":{"details":[{"retryDelay":"8s"}]}}`),
	}, redactor{})
	if got.RetryAfter != 3*time.Second {
		t.Errorf("it waits %s", got.RetryAfter)
	}
}

const requestTooLarge = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 35123."

// TestRequestsLargerThanALimit tells a request that no wait helps from one that waits for others.
func TestRequestsLargerThanALimit(t *testing.T) {
	for message, want := range map[string]bool{
		requestTooLarge: true,
		"Rate limit reached on tokens per min. Limit: 30,000 / min. Requested: 35,123.":                                       true,
		"The input or output tokens must be reduced in order to run successfully.":                                            true,
		"Request too large for model x: please reduce your message size and try again.":                                       true,
		"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 1200. Try again in 400ms.": false,
		"Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3, Requested 1.":                              false,
		"Too many requests. Limit 0, Requested 1.":                                                                            false,
		"Too many tokens, please wait before trying again.":                                                                   false,
	} {
		got := report{message: message}.kind(429)
		if is := got == backends.KindTooLong; is != want {
			t.Errorf("%s: %s", message, got)
		}
	}
}

// TestQuota tells a spent quota from a quota per minute. Gemini uses the same words for
// both, but says when a quota per minute is over.
func TestQuota(t *testing.T) {
	const spent = "You exceeded your current quota, please check your plan and billing details."
	for _, c := range []struct {
		status  int
		message string
		wait    string
		want    bool
	}{
		{429, spent, "", true},
		{429, spent, "8", false},
		{429, "insufficient_quota", "1", true},
		{429, "slow", "", false},
		{429, "Quota exceeded for metric: free_tier_requests, limit: 0, model: pro. Please retry in 20s.", "", true},
		{429, "Quota exceeded for metric: free_tier_requests, limit: 10, model: pro.", "", false},
		{400, spent, "", false},
	} {
		body, err := plain.JSON(map[string]any{"error": map[string]string{"message": c.message}})
		if err != nil {
			t.Fatal(err)
		}
		got := &backends.Error{}
		describe(got, &statusError{status: c.status, header: http.Header{"Retry-After": {c.wait}}, body: body}, redactor{})
		if got.QuotaSpent != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
