package wire

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest time that is believed.
const maxRetryAfter = 31 * 24 * time.Hour

// clock returns the service's own time, if its headers have it.
func clock(header http.Header, now time.Time) time.Time {
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		return sent
	}
	return now
}

// retryAfter reads how long a service asks to wait (RFC 9110, section 10.2.3:
// seconds or a date, and what untilReset knows), or the milliseconds that OpenAI sends beside it.
// now is the service's time.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return toWait(ms / 1000)
	}
	return untilReset(header.Get("Retry-After"), now)
}

// wait returns how long an error object asks to wait: in google.rpc.RetryInfo, in a field for the wait or
// for the time of a reset, or in headers that OpenRouter passes on in the metadata. now is the service's
// time.
func (r report) wait(now time.Time) time.Duration {
	if r.retryAfter > 0 {
		return r.retryAfter
	}
	for _, place := range r.places {
		var fields map[string]json.RawMessage
		if json.Unmarshal(place, &fields) != nil {
			continue
		}
		if wait := waitIn(fields, r.words+" "+r.message, now); wait > 0 {
			return wait
		}
	}
	return 0
}

// waitIn returns the longest wait that the fields of an object name. words is the text of the error.
func waitIn(fields map[string]json.RawMessage, words string, now time.Time) (longest time.Duration) {
	for name, value := range fields {
		text, isText := textOf(value)
		var wait time.Duration
		switch squeezed(name) {
		case "retryafter", "retryafterseconds", "retrydelay", "retryin", "resetin", "resetsin", "resetsinseconds", "resetseconds",
			"reset", "resetat", "resetsat", "resettime", "ratelimitreset":
			if isText {
				wait = untilReset(text, now)
			}
		case "retryafterms", "retryaftermilliseconds", "resetsinms":
			if ms, err := strconv.ParseFloat(text, 64); err == nil {
				wait = toWait(ms / 1000)
			}
		case "headers":
			header := headersIn(value)
			if wait = retryAfter(header, now); wait == 0 {
				wait = limitReset(header, words, now)
			}
		}
		longest = max(longest, wait)
	}
	return longest
}

// headersIn returns the headers that a JSON object holds, each with a text, a number or a list of texts.
func headersIn(object json.RawMessage) http.Header {
	header := http.Header{}
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return header
	}
	for name, value := range fields {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) == nil && len(list) > 0 {
			value = list[0]
		}
		if text, isText := textOf(value); isText {
			header.Set(name, text)
		}
	}
	return header
}

// tokensLimit and requestsLimit match the words about a limit of tokens or of requests.
var (
	tokensLimit   = regexp.MustCompile(`(?i)\btokens per\b|\(TP[MDH]\)|^tokens\b|input tokens|output tokens`)
	requestsLimit = regexp.MustCompile(`(?i)\brequests per\b|\(RP[MDH]\)|^requests\b`)
)

// limitReset returns the time until the limit resets that a request has met. A service reports each of its
// limits in such headers as X-RateLimit-Remaining-Requests and X-RateLimit-Reset-Requests, and the error's
// words name one. The exhausted limits count, else the limits that the words name, else those with no
// remainder. The longest reset of these is the answer, 0 if there is none.
func limitReset(header http.Header, words string, now time.Time) (longest time.Duration) {
	best := 1
	for name := range header {
		lower := strings.ToLower(name)
		if !strings.Contains(strings.ReplaceAll(lower, "-", ""), "ratelimit") || !strings.Contains(lower, "reset") {
			continue
		}
		rank := 1
		remaining, err := strconv.ParseFloat(header.Get(strings.Replace(lower, "reset", "remaining", 1)), 64)
		switch {
		case err == nil && remaining <= 0:
			rank = 3
		case strings.Contains(lower, "token") && tokensLimit.MatchString(words), strings.Contains(lower, "request") && requestsLimit.MatchString(words):
			rank = 2
		case err == nil:
			rank = 0
		}
		wait := untilReset(header.Get(name), now)
		switch {
		case rank < best || wait == 0:
		case rank > best:
			best, longest = rank, wait
		default:
			longest = max(longest, wait)
		}
	}
	return longest
}

// Numbers from these on are no waits in seconds: they are a time in seconds or milliseconds since 1970.
const (
	firstUnixSeconds = 1e8
	firstUnixMillis  = 1e11
)

// untilReset returns how long it is until a reset: a wait that parseWait knows, or a time as seconds or
// milliseconds since 1970, as an HTTP date or by RFC 3339. It returns 0 for a time that has passed and for
// any other text.
func untilReset(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, ok := parseWait(value); ok {
		switch {
		case seconds >= firstUnixMillis:
			seconds = seconds/1000 - float64(now.UnixMilli())/1000
		case seconds >= firstUnixSeconds:
			seconds -= float64(now.UnixMilli()) / 1000
		}
		return toWait(seconds)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		at, err = time.Parse(time.RFC3339, value)
	}
	if err != nil {
		return 0
	}
	return toWait(at.Sub(now).Seconds())
}

// parseWait reads a number of seconds, or a duration as proxies write it: "3s", "1m30s", "500 ms",
// "2 seconds".
func parseWait(value string) (seconds float64, ok bool) {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return seconds, true
	}
	seconds, rest := leadingWait(value)
	return seconds, rest == "" && value != ""
}

var (
	numberAndUnit = regexp.MustCompile(`^(\d+(?:\.\d+)?) *([a-zµ]+)`)
	betweenUnits  = regexp.MustCompile(`^(, *| +)?(and +)?`)
)

// leadingWait reads the duration with which a text begins, and returns what follows it.
func leadingWait(text string) (seconds float64, rest string) {
	rest = text
	next := strings.ToLower(text)
	for {
		found := numberAndUnit.FindStringSubmatch(next)
		if found == nil {
			return seconds, rest
		}
		number, err := strconv.ParseFloat(found[1], 64)
		unit := unitSeconds(found[2])
		if err != nil || unit == 0 {
			return seconds, rest
		}
		seconds += number * unit
		next = next[len(found[0]):]
		rest = next
		next = next[len(betweenUnits.FindString(next)):]
	}
}

// unitSeconds returns how many seconds a unit of time has, 0 for any other word.
func unitSeconds(word string) float64 {
	for _, unit := range []struct {
		seconds float64
		names   []string
	}{
		{1e-9, []string{"ns"}},
		{1e-6, []string{"us", "µs"}},
		{1e-3, []string{"ms", "millisecond", "milliseconds"}},
		{1, []string{"s", "sec", "secs", "second", "seconds"}},
		{60, []string{"m", "min", "mins", "minute", "minutes"}},
		{3600, []string{"h", "hr", "hrs", "hour", "hours"}},
		{24 * 3600, []string{"d", "day", "days"}},
	} {
		if slices.Contains(unit.names, word) {
			return unit.seconds
		}
	}
	return 0
}

// waitWords matches the words before a wait: "Please try again in 9s", "Retry after 26 seconds".
var waitWords = regexp.MustCompile(`(?i)\b(?:try(?: your request| the request)? again|retry|retrying|resets?|wait)` +
	`(?: your request| the request| again| for| in| after| at least| about| another)*:? +\d`)

// saidWait returns the wait that a message asks for in words, 0 if it asks for none.
func saidWait(message string) time.Duration {
	for _, found := range waitWords.FindAllStringIndex(message, -1) {
		if seconds, _ := leadingWait(message[found[1]-1:]); seconds > 0 {
			return toWait(seconds)
		}
	}
	return 0
}

func toWait(seconds float64) time.Duration {
	if !(seconds > 0) { // not a number is no time either
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
