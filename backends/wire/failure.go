package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/massgen/massgen/backends"
)

// statusError is an answer with an HTTP status that is none of success.
type statusError struct {
	status int
	from   *url.URL
	header http.Header
	body   []byte
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d", e.status) }

// StreamError is an error object that came with status 200: Body holds it.
type StreamError struct{ Body []byte }

func (e *StreamError) Error() string { return parseReport(e.Body).message }

// IsStreamError says whether err is one that the service reported in its answer.
func IsStreamError(err error) bool {
	var e *StreamError
	return errors.As(err, &e)
}

// NotAnAnswer is what came with status 200 and is no answer of a model: Body is
// its beginning.
type NotAnAnswer struct{ Body []byte }

func (e *NotAnAnswer) Error() string {
	what := "something that is no model's answer"
	if looksLikeHTML(e.Body) {
		what = "a web page"
	}
	return fmt.Sprintf("the service answered with %s (is base_url right?): %s", what, readableText(e.Body))
}

// Refusal is an answer that the provider or the model withheld, with its reason.
type Refusal struct{ Message string }

func (e *Refusal) Error() string { return e.Message }

// Failure makes the *backends.Error of an exchange that ended with err. begun says
// whether a part of the answer had come. What the caller did stands before what
// the wire said, and that before what became of it in the library.
func (x *Exchange) Failure(err error, begun bool) error {
	out := &backends.Error{Provider: x.service.settings.Provider, Kind: backends.KindNetwork, Begun: begun, Unspent: !x.sent}
	var quiet *silence
	switch {
	case x.parent.Err() != nil:
		out.Kind, out.Err = backends.KindOf(x.parent.Err()), x.parent.Err()
		out.Message = x.parent.Err().Error()
	case errors.As(context.Cause(x.ctx), &quiet):
		out.Kind, out.Err = backends.KindTimeout, quiet
		out.Message = quiet.Error()
	case x.failure != nil:
		describe(out, x.failure)
	case !x.sent:
		out.Kind = backends.KindBadRequest
		out.Message = err.Error()
	default:
		describe(out, err)
	}
	return x.service.secrets.and(x.headers).clean(out)
}

// ServiceFailed says whether the service answered with an HTTP status that is none
// of success.
func (x *Exchange) ServiceFailed() bool { return x.failure != nil }

// describe fills in out from what the wire said.
func describe(out *backends.Error, err error) {
	var (
		status   *statusError
		stream   *StreamError
		page     *NotAnAnswer
		tooMuch  *limitError
		withheld *Refusal
		network  net.Error
		viaURL   *url.Error
	)
	switch {
	case errors.As(err, &status):
		describeStatus(out, status)
		noteNoTools(out)
	case errors.As(err, &stream):
		report := parseReport(stream.Body)
		out.Message, out.RetryAfter = report.message, report.retryAfter
		out.Kind = report.kind(report.status())
		noteNoTools(out)
	case errors.As(err, &page):
		out.Kind, out.Message = backends.KindBadRequest, page.Error()
	case errors.As(err, &tooMuch):
		out.Kind, out.Message = backends.KindBadRequest, tooMuch.Error()
	case errors.As(err, &withheld):
		out.Kind, out.Message = backends.KindRefused, withheld.Error()
	default:
		if errors.As(err, &viaURL) {
			err = viaURL.Err // the URL around it may hold a password
		}
		out.Message, out.Err = err.Error(), err
		out.Unreachable = isUnreachable(err)
		if errors.As(err, &network) && network.Timeout() {
			out.Kind = backends.KindTimeout
		}
	}
}

// isUnreachable knows a host that does not exist, and a port of this machine on
// which nothing listens. A refusal by another machine may be that of a service
// which is being restarted.
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

func describeStatus(out *backends.Error, e *statusError) {
	out.Status = e.status
	if e.isRedirect() {
		out.Kind, out.Message = backends.KindBadRequest, e.redirect()
		return
	}
	report := parseReport(e.body)
	out.Message = report.message
	if out.Message == "" {
		out.Message = http.StatusText(e.status)
	}
	out.Kind = report.kind(e.status)
	if out.RetryAfter = retryAfter(e.header, time.Now()); out.RetryAfter == 0 {
		out.RetryAfter = report.retryAfter
	}
}

// isRedirect says whether the answer is a redirect that net/http did not follow, or
// not to the end.
func (e *statusError) isRedirect() bool {
	switch e.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

func (e *statusError) redirect() string {
	to, err := e.from.Parse(e.header.Get("Location"))
	if err != nil || e.header.Get("Location") == "" {
		return fmt.Sprintf("%s redirects without an address to go to", withoutSecrets(e.from))
	}
	return fmt.Sprintf("%s redirects to %s, and so on without end", withoutSecrets(e.from), withoutSecrets(to))
}

// withoutSecrets returns an address without its user and query.
func withoutSecrets(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
