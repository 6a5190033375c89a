package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/httpclient"
)

// statusError is an answer with an HTTP status other than success.
type statusError struct {
	status int
	from   *url.URL
	header http.Header
	body   []byte
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d", e.status) }

// StreamError is an error object that came with status 200: Body holds it.
type StreamError struct {
	Body []byte
	own  bool // Body was written from a form of the service's own
}

func (e *StreamError) Error() string { return parseReport(e.Body, redactor{}).message }

// isStreamError reports whether err is one that the service reported in its answer.
func isStreamError(err error) bool {
	var e *StreamError
	return errors.As(err, &e)
}

// NotAnAnswer is what came with status 200 and is no answer of a model: Body is
// its beginning.
type NotAnAnswer struct{ Body []byte }

func (e *NotAnAnswer) Error() string { return e.text(redactor{}) }

func (e *NotAnAnswer) text(r redactor) string {
	what := "something that is no model's answer"
	if looksLikeHTML(e.Body) {
		what = "a web page"
	}
	return fmt.Sprintf("the service answered with %s (is base_url right?): %s", what, readableText(e.Body, r))
}

// Refusal is an answer that the provider or the model withheld, with its reason.
type Refusal struct{ Message string }

func (e *Refusal) Error() string { return e.Message }

// fail makes the *backends.Error of an exchange that ended with err. begun says
// whether a part of the answer had come, and cut are the tool calls that had begun and
// did not end. What the caller did stands before what the wire said, and that before
// what became of it in the library.
func (x *exchange) fail(err error, begun bool, cut ...backends.ToolCall) error {
	out := &backends.Error{Provider: x.service.Provider, Kind: backends.KindNetwork, Begun: begun, Cut: cut, Free: !x.sent}
	secret := x.service.secrets.and(x.headers)
	var quiet *silence
	switch {
	case x.parent.Err() != nil:
		out.Kind, out.Err = backends.KindOf(x.parent.Err()), x.parent.Err()
		out.Message = x.parent.Err().Error()
	case x.failure != nil:
		describe(out, x.failure, secret)
	case errors.As(context.Cause(x.ctx), &quiet):
		out.Kind, out.Err = backends.KindTimeout, quiet
		out.Message = quiet.Error()
	case !x.sent:
		out.Kind = backends.KindBadRequest
		out.Message = withoutURL(err).Error()
	default:
		describe(out, err, secret)
		if x.refusedTLS.Load() && !x.connected.Load() {
			out.Free, out.Unreachable = true, !mayPass(err)
		}
	}
	return secret.clean(out)
}

// withoutURL returns the error that stands in err after a URL, which may hold a
// password or a key.
func withoutURL(err error) error {
	var viaURL *url.Error
	if errors.As(err, &viaURL) {
		return viaURL.Err
	}
	return err
}

// describe fills in out from what the wire said. A text that is shortened is rid of
// secrets before: half of a key would not be known for one.
func describe(out *backends.Error, err error, secret redactor) {
	var (
		status   *statusError
		stray    *httpclient.StrayError
		stream   *StreamError
		page     *NotAnAnswer
		tooMuch  *limitError
		withheld *Refusal
		network  net.Error
	)
	switch {
	case errors.As(err, &status):
		describeStatus(out, status, secret)
	case errors.As(err, &stray):
		out.Kind, out.Message, out.Free = backends.KindBadRequest, stray.Error(), true
	case errors.As(err, &stream):
		r := parseReport(stream.Body, secret)
		r.own = stream.own
		describeReport(out, r, nil)
	case errors.As(err, &page):
		out.Kind, out.Message = backends.KindBadRequest, page.text(secret)
	case errors.As(err, &tooMuch):
		out.Kind, out.Message = backends.KindBadRequest, tooMuch.Error()
	case errors.As(err, &withheld):
		out.Kind, out.Message = backends.KindRefused, withheld.Error()
	default:
		err = withoutURL(err)
		out.Message, out.Err = Shorten(secret.text(err.Error())), err
		out.Unreachable = isUnreachable(err)
		out.Free = isUnconnected(err)
		if errors.As(err, &network) && network.Timeout() {
			out.Kind = backends.KindTimeout
		}
	}
}

// markQuota marks the error of an account that has used up what it paid for, or whose limit is zero. It
// arrives with the status of a rate limit, and OpenAI's words for it. Gemini uses the same words for
// the quota of a minute, with the time to wait.
func markQuota(e *backends.Error) {
	e.QuotaSpent = e.Kind == backends.KindRateLimit && (says(e.Message, "insufficient_quota") || zeroLimit.MatchString(e.Message) ||
		e.RetryAfter == 0 && says(e.Message, "exceeded your current quota"))
}

// isUnreachable reports whether the host does not exist, or nothing listens on the port
// of this machine. Another machine that refuses may be restarting its service.
func isUnreachable(err error) bool {
	var (
		host *net.DNSError
		dial *net.OpError
	)
	if errors.As(err, &host) {
		return host.IsNotFound
	}
	if !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &dial) {
		return false
	}
	to, isTCP := dial.Addr.(*net.TCPAddr)
	return isTCP && to.IP.IsLoopback()
}

// mayPass reports whether a TLS handshake may succeed another time: it was broken off, or took too
// long. A server that speaks no TLS, or whose certificate is not trusted, stays that way.
func mayPass(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.As(err, &network) && network.Timeout()
}

// isUnconnected reports whether there was no connection on which a request could go out.
func isUnconnected(err error) bool {
	var (
		host *net.DNSError
		dial *net.OpError
	)
	return errors.As(err, &host) || errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect")
}

func describeStatus(out *backends.Error, e *statusError, secret redactor) {
	out.Status = e.status
	if e.isRedirect() {
		out.Kind, out.Message = backends.KindBadRequest, e.redirect()
		return
	}
	if e.status == http.StatusSwitchingProtocols {
		out.Kind, out.Message = backends.KindBadRequest, "it switches to another protocol, which nobody asked for: is base_url right?"
		return
	}
	describeReport(out, parseReport(e.body, secret), e.header)
	out.Message = cmp.Or(out.Message, http.StatusText(e.status))
}

// describeReport fills in out from an error object and the headers that came with it, which may be nil.
func describeReport(out *backends.Error, r report, header http.Header) {
	now := clock(header, time.Now())
	out.Message, out.RetryAfter = r.message, cmp.Or(retryAfter(header, now), r.wait(now))
	out.Kind = r.kind(cmp.Or(out.Status, r.status()))
	if out.RetryAfter == 0 && (out.Kind == backends.KindRateLimit || out.Kind == backends.KindOverloaded) {
		out.RetryAfter = saidWait(r.message)
	}
	markNoTools(out)
	markQuota(out)
	if out.RetryAfter == 0 && out.Kind == backends.KindRateLimit && !out.QuotaSpent {
		out.RetryAfter = limitReset(header, r.words+" "+r.message, now)
	}
}

// isRedirect reports whether the answer is a redirect that net/http did not follow, or
// not to the end.
func (e *statusError) isRedirect() bool {
	switch e.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// leadsTo returns the address of a redirect.
func (e *statusError) leadsTo() (to *url.URL, isThere bool) {
	place := e.header.Get("Location")
	to, err := e.from.Parse(place)
	return to, e.isRedirect() && place != "" && err == nil
}

func (e *statusError) redirect() string {
	to, isThere := e.leadsTo()
	if !isThere {
		return fmt.Sprintf("%s redirects without an address to go to", httpclient.Shown(e.from))
	}
	return fmt.Sprintf("%s redirects to %s, and so on without end", httpclient.Shown(e.from), httpclient.Shown(to))
}
