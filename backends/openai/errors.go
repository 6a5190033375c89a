package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
)

// statusError is an answer with an HTTP status that is none of success.
type statusError struct {
	status int
	header http.Header
	body   []byte
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d", e.status) }

// streamError is an error object that came with status 200: body holds it.
type streamError struct{ body []byte }

func (e *streamError) Error() string { return parseReport(e.body).message }

func isStreamError(err error) bool {
	var e *streamError
	return errors.As(err, &e)
}

// notAStream is an answer with status 200 that is no answer of a model: body is
// its beginning.
type notAStream struct{ body []byte }

func (e *notAStream) Error() string {
	what := "something that is no model's answer"
	if looksLikeHTML(e.body) {
		what = "a web page"
	}
	return fmt.Sprintf("the service answered with %s (is base_url right?): %s", what, readableText(e.body))
}

// refusal is an answer that the provider or the model withheld.
type refusal struct{ message string }

func (e *refusal) Error() string { return e.message }

// failure makes the *backends.Error of an attempt that ended with err. What the
// caller did stands before what the wire said, and that before what became of it
// in go-openai.
func (a *attempt) failure(err error) error {
	out := &backends.Error{Provider: a.backend.config.Provider, Kind: backends.KindNetwork, Begun: a.begun}
	var quiet *silence
	switch {
	case a.parent.Err() != nil:
		out.Kind, out.Err = backends.KindOf(a.parent.Err()), a.parent.Err()
		out.Message = a.parent.Err().Error()
	case errors.As(context.Cause(a.ctx), &quiet):
		out.Kind, out.Err = backends.KindTimeout, quiet
		out.Message = quiet.Error()
	case a.wire.failure != nil:
		describe(out, a.wire.failure)
	case !a.wire.sent:
		out.Kind = backends.KindBadRequest
		out.Message = err.Error()
	default:
		describe(out, err)
	}
	return a.backend.secrets.and(a.req.Params.Headers).clean(out)
}

// localError is the failure of a request that could not be made.
func (b *Backend) localError(err error) error {
	return b.secrets.clean(&backends.Error{Provider: b.config.Provider, Kind: backends.KindBadRequest, Message: err.Error()})
}

// describe fills in out from what the wire said.
func describe(out *backends.Error, err error) {
	var (
		status   *statusError
		stream   *streamError
		page     *notAStream
		withheld *refusal
		network  net.Error
		viaURL   *url.Error
	)
	switch {
	case errors.As(err, &status):
		describeStatus(out, status)
	case errors.As(err, &stream):
		report := parseReport(stream.body)
		out.Message = report.message
		out.Kind = report.kind(report.status())
	case errors.As(err, &page):
		out.Kind, out.Message = backends.KindBadRequest, page.Error()
	case errors.As(err, &withheld):
		out.Kind, out.Message = backends.KindRefused, withheld.Error()
	default:
		if errors.As(err, &viaURL) {
			err = viaURL.Err // the URL around it may hold a password
		}
		out.Message, out.Err = err.Error(), err
		if errors.As(err, &network) && network.Timeout() {
			out.Kind = backends.KindTimeout
		}
	}
}

func describeStatus(out *backends.Error, e *statusError) {
	report := parseReport(e.body)
	out.Status = e.status
	out.Message = report.message
	if out.Message == "" {
		out.Message = http.StatusText(e.status)
	}
	out.Kind = report.kind(e.status)
	out.RetryAfter = retryAfter(e.header, time.Now())
}

// report is what an error object says. Services write it as {"error": {"message",
// "type", "code"}}, {"error": "text"}, or with the fields at the top.
type report struct {
	message string
	words   string // type and code, for the kind
	code    int    // a code that is a number
}

func parseReport(body []byte) report {
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	raw := json.RawMessage(body)
	if json.Unmarshal(body, &outer) == nil && len(outer.Error) > 0 && string(outer.Error) != "null" {
		raw = outer.Error
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return report{message: text}
	}
	var fields struct {
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil && fields.Message == nil {
		return report{message: readableText(body)}
	}
	out := report{words: fields.Type + " " + strings.Trim(string(fields.Code), `"`)}
	if code, err := strconv.Atoi(strings.Trim(string(fields.Code), `"`)); err == nil {
		out.code = code
	}
	for _, message := range []json.RawMessage{fields.Message, fields.Detail, raw} {
		if len(message) == 0 || string(message) == "null" {
			continue
		}
		if json.Unmarshal(message, &out.message) != nil {
			out.message = shorten(string(message))
		}
		break
	}
	return out
}

// status is the HTTP status that an error inside of a stream would have had.
func (r report) status() int {
	if r.code >= http.StatusBadRequest && r.code < 600 {
		return r.code
	}
	words := strings.ToLower(r.words)
	switch {
	case strings.Contains(words, "rate_limit"), strings.Contains(words, "insufficient_quota"):
		return http.StatusTooManyRequests
	case strings.Contains(words, "authentication"), strings.Contains(words, "invalid_api_key"):
		return http.StatusUnauthorized
	case strings.Contains(words, "invalid_request"), strings.Contains(words, "context"), strings.Contains(words, "content_filter"):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// kind says what can be done about an error with an HTTP status.
func (r report) kind(status int) backends.Kind {
	words := strings.ToLower(r.words)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return backends.KindAuth
	case status == http.StatusTooManyRequests:
		return backends.KindRateLimit
	case status == http.StatusRequestTimeout, status == http.StatusConflict:
		return backends.KindOverloaded
	case status >= http.StatusInternalServerError:
		return backends.KindOverloaded
	case strings.Contains(words, "content_filter"), strings.Contains(words, "content_policy"):
		return backends.KindRefused
	case strings.Contains(words, "context_length"), strings.Contains(words, "exceed_context"), saysTooLong(r.message):
		return backends.KindTooLong
	}
	return backends.KindBadRequest
}

// saysTooLong knows the words of services that have no code for it: vLLM,
// llama.cpp, Groq, xAI, Together.
func saysTooLong(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{
		"context length", "context window", "context size", "prompt is too long", "input is too long",
		"maximum prompt length", "reduce the length of the messages",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// maxRetryAfter is the longest time that is believed.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads how long a service asks to wait (RFC 9110, section 10.2.3:
// seconds or a date), or the milliseconds that OpenAI sends beside it.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return toWait(ms / 1000)
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return toWait(seconds)
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent // the service's own clock
	}
	return toWait(date.Sub(now).Seconds())
}

func toWait(seconds float64) time.Duration {
	if !(seconds > 0) { // not a number is no time either
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

const maxMessage = 500

// shorten keeps the beginning of a text, on one line.
func shorten(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	runes := []rune(text)
	if len(runes) <= maxMessage {
		return text
	}
	return string(runes[:maxMessage]) + "…"
}

func looksLikeHTML(body []byte) bool {
	return strings.HasPrefix(strings.TrimSpace(string(body)), "<")
}

// readableText returns what a person would read of a body.
func readableText(body []byte) string {
	text := string(body)
	if looksLikeHTML(body) {
		text = regexp.MustCompile(`(?is)<(script|style)\b.*?(</(script|style)>|$)|<!--.*?-->`).ReplaceAllString(text, " ")
		text = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")
		text = html.UnescapeString(text)
	}
	return shorten(text)
}

// redactor takes secrets out of texts.
type redactor struct{ secrets []string }

// newRedactor knows the key, the password of a base URL as written and as
// decoded, and the values of its query.
func newRedactor(key string, base *url.URL, query url.Values) redactor {
	secrets := []string{key}
	if password, ok := base.User.Password(); ok {
		_, written, _ := strings.Cut(base.User.String(), ":")
		secrets = append(secrets, password, written)
	}
	for name, values := range query {
		if name != "api-version" {
			secrets = append(secrets, values...)
		}
	}
	var r redactor
	for _, s := range secrets {
		if s != "" {
			r.secrets = append(r.secrets, s)
		}
	}
	return r
}

// and returns a redactor that also knows the values of headers that by their
// names are secret.
func (r redactor) and(headers map[string]string) redactor {
	secrets := slices.Clone(r.secrets)
	for name, value := range headers {
		if value != "" && regexp.MustCompile(`(?i)auth|key|token|secret|cookie`).MatchString(name) {
			secrets = append(secrets, value)
		}
	}
	return redactor{secrets}
}

// clean takes the secrets out of an error's message, and its cause away if that
// holds any.
func (r redactor) clean(e *backends.Error) *backends.Error {
	e.Message = r.text(e.Message)
	if e.Err != nil && r.text(e.Err.Error()) != e.Err.Error() {
		e.Err = nil
	}
	return e
}

// A URL with a password may also be that of a proxy, which nobody told us.
const urlPassword = `(://[^/@\s:]*):[^/@\s]*@`

func (r redactor) text(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return regexp.MustCompile(urlPassword).ReplaceAllString(text, "$1:***@")
}
