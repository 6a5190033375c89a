package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"nothing", http.Header{}, 0},
		{"seconds", http.Header{"Retry-After": {"20"}}, 20 * time.Second},
		{"a fraction", http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{"milliseconds come first", http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"350"}}, 350 * time.Millisecond},
		{"a date", http.Header{"Retry-After": {"Tue, 01 Jan 2030 12:00:30 GMT"}}, 30 * time.Second},
		{"a date by the service's clock", http.Header{"Retry-After": {"Fri, 31 Dec 1999 23:59:59 GMT"}, "Date": {"Fri, 31 Dec 1999 23:59:50 GMT"}}, 9 * time.Second},
		{"a date that has passed", http.Header{"Retry-After": {"Tue, 01 Jan 2030 11:00:00 GMT"}}, 0},
		{"a negative time", http.Header{"Retry-After": {"-5"}}, 0},
		{"more than a time can hold", http.Header{"Retry-After": {"1e300"}}, maxRetryAfter},
		{"nonsense", http.Header{"Retry-After": {"soon"}}, 0},
	} {
		if got := retryAfter(c.header, clock(c.header, now)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestUnescapeHTMLChangesNoMeaning(t *testing.T) {
	alphabet := rapid.StringOf(rapid.RuneFrom([]rune(`\u003c<>&"e0n` + "\u2028")))
	rapid.Check(t, func(t *rapid.T) {
		text := alphabet.Draw(t, "text")
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		plain := unescapeHTML(encoded)
		var back string
		if err := json.Unmarshal(plain, &back); err != nil || back != text {
			t.Fatalf("%s became %s: %q %v", encoded, plain, back, err)
		}
		if strings.Count(string(plain), "<") != strings.Count(text, "<") {
			t.Fatalf("%s is not readable", plain)
		}
	})
}
