package wire

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
)

// report is what an error object says. Services write it as {"error": {"message",
// "type", "code"}}, {"error": "text"}, or with the fields at the top. Google adds
// "status" and "details", and puts some of its errors into a list.
type report struct {
	message    string
	words      string // type, status, reasons and code, for the kind
	code       int    // a code that is a number
	retryAfter time.Duration
	own        bool // the service has a form of its own for errors
	// places are the objects that may hold the time of a reset.
	places []json.RawMessage
}

func parseReport(body []byte, secret redactor) report {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	raw := json.RawMessage(body)
	if json.Unmarshal(body, &outer) == nil && len(outer.Error) > 0 && string(outer.Error) != "null" {
		raw = outer.Error
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return report{message: text, places: []json.RawMessage{body}}
	}
	var fields struct {
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Status  string          `json:"status"`
		Details json.RawMessage `json:"details"`
		Meta    json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil && fields.Message == nil {
		return report{message: readableText(body, secret)}
	}
	out := report{words: fields.Type + " " + strings.Trim(string(fields.Code), `"`), places: []json.RawMessage{raw, fields.Meta, body}}
	out.addStatus(fields.Status, fields.Details)
	if code, err := strconv.Atoi(strings.Trim(string(fields.Code), `"`)); err == nil {
		out.code = code
	}
	for _, message := range []json.RawMessage{fields.Message, fields.Detail, raw} {
		if len(message) == 0 || string(message) == "null" {
			continue
		}
		if json.Unmarshal(message, &out.message) != nil {
			out.message = Shorten(secret.text(string(message)))
		}
		break
	}
	return out
}

// addStatus reads what a google.rpc.Status has beside its message
// (https://google.aip.dev/193). The details are objects of several types: ErrorInfo has
// a reason, RetryInfo the time to wait, as in "8.2s".
func (r *report) addStatus(status string, details json.RawMessage) {
	var list []struct {
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
	}
	r.words += " " + status
	if json.Unmarshal(details, &list) != nil {
		return // no details, or those of another service
	}
	for _, d := range list {
		r.words += " " + d.Reason
		if delay, err := time.ParseDuration(d.RetryDelay); err == nil {
			r.retryAfter = toWait(delay.Seconds())
		}
	}
}

// status is the HTTP status that an error inside of a stream would have had.
func (r report) status() int {
	if r.code >= http.StatusBadRequest && r.code < 600 {
		return r.code
	}
	for _, known := range []struct {
		status int
		words  []string
	}{
		{http.StatusTooManyRequests, []string{"rate_limit", "insufficient_quota", "resource_exhausted"}},
		{http.StatusUnauthorized, []string{"authentication", "unauthenticated", "api_key"}},
		{http.StatusForbidden, []string{"permission"}},
		{http.StatusPaymentRequired, []string{"billing"}},
		{http.StatusRequestEntityTooLarge, []string{"too_large"}},
		{http.StatusBadRequest, []string{
			"invalid_", "failed_precondition", "context", "content_filter", "not_found",
		}},
	} {
		if says(r.words, known.words...) {
			return known.status
		}
	}
	if r.own {
		return r.ownStatus()
	}
	return http.StatusInternalServerError
}

// says reports whether a text contains one of some words, which are in lower case.
func says(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// kind returns the kind of an error with an HTTP status.
func (r report) kind(status int) backends.Kind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusPaymentRequired, saysUnpaid(r.words + " " + r.message), says(r.words, "api_key_invalid"):
		return backends.KindAuth
	case status == http.StatusRequestEntityTooLarge, status == http.StatusTooManyRequests && saysTooLarge(r.message):
		return backends.KindTooLong
	case status == http.StatusTooManyRequests:
		return backends.KindRateLimit
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= http.StatusInternalServerError:
		return backends.KindOverloaded
	case says(r.words, "content_filter", "content_policy", "datainspection"), says(r.message, "violating our usage policy"):
		return backends.KindRefused
	case says(r.words, "context_length", "exceed_context"), saysTooLong(r.message):
		return backends.KindTooLong
	}
	return backends.KindBadRequest
}

// unpaid matches the words of services for an account without money: of Claude's API, which reports
// it, and a limit that the account's owner set, as a request that is not valid, and of others, which
// report it with a status of their own or as a rate limit (DeepSeek, MiniMax, Moonshot, SiliconFlow,
// Alibaba's "Arrearage", Zhipu's 余额不足 and 欠费).
var unpaid = regexp.MustCompile(`(?i)credit balance is too low|api usage limits` +
	`|(insufficient|not enough|out of|no remaining) (account )?(balance|credits?|funds?)\b|(insufficient|no)_(balance|credits?|funds?)` +
	`|(balance|credits?|funds?) (is |are )?(insufficient|not enough|exhausted|depleted|used up|too low)` +
	`|arrear|overdue|in good standing|payment required|please (recharge|top[ -]?up)|余额不足|额度不足|欠费|请充值`)

// saysUnpaid reports whether a service's words are about an account without money.
func saysUnpaid(words string) bool { return unpaid.MatchString(words) }

// saysTooLong knows the words of services that have no code for it: vLLM,
// llama.cpp, Groq, xAI, Together, Claude, Gemini.
func saysTooLong(message string) bool {
	return says(message,
		"context length", "context window", "context limit", "context size", "prompt is too long", "input is too long",
		"maximum prompt length", "reduce the length of the messages", "exceeds the maximum number of tokens",
	)
}

// tooLarge matches the words of a rate limit that one request alone exceeds: of OpenAI, Groq and Azure.
var tooLarge = regexp.MustCompile(`(?i)\brequest (is |was )?too large|\btokens must be reduced|reduce (your|the) (message|prompt|request|input) size` +
	`|(single|this|one) request (alone )?(exceeds|is larger than|is over) `)

// limitAndRequested matches the two numbers of a limit that a request meets.
var limitAndRequested = regexp.MustCompile(`(?i)\blimit[:=]? *(\d[\d,]*)\b.{0,80}?\brequested[:=]? *(\d[\d,]*)`)

// saysTooLarge reports whether the words of a rate limit mean that the request alone is larger than
// the limit, so that no wait makes room for it.
func saysTooLarge(message string) bool {
	if tooLarge.MatchString(message) {
		return true
	}
	found := limitAndRequested.FindStringSubmatch(message)
	return found != nil && count(found[1]) > 0 && count(found[2]) > count(found[1])
}

// count reads a number that may have commas, 0 if it is too large.
func count(digits string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(digits, ",", ""))
	if err != nil {
		return 0
	}
	return n
}

// zeroLimit matches a limit of nothing at all, as Gemini writes it of a model that a free plan lacks.
var zeroLimit = regexp.MustCompile(`(?i)\blimit: ?0(,|;|\s|\.?$)`)
