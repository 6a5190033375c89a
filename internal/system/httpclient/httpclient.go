// Package httpclient makes the HTTP clients of the program. They all have one policy: they obey the proxy
// variables of the environment, and follow no redirect to another origin.
package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// NewTransport returns a transport with connections of its own. limits are those of HTTP2Limits.
func NewTransport(limits *http.HTTP2Config) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		HTTP2:               limits,
	}
}

// HTTP2Limits returns the limits by which a connection over HTTP/2 is closed that died without a
// word, or whose service reads nothing, which holds the client in a write. That takes 30 s at
// most, and two thirds of the shortest of the limits of a call that are positive: a call that
// runs out of time leaves no dead connection to the next.
func HTTP2Limits(ofCall ...time.Duration) *http.HTTP2Config {
	part := 15 * time.Second
	for _, limit := range ofCall {
		if limit > 0 {
			part = min(part, limit/3)
		}
	}
	return &http.HTTP2Config{SendPingTimeout: part, PingTimeout: part, WriteByteTimeout: min(part, 10*time.Second)}
}

// New returns a client that sends its requests through transport. A redirect to another origin ends a
// request with a *StrayError. setting is where people wrote the client's address.
func New(transport http.RoundTripper, setting string) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		// Each hop before was at the same origin. The last one may have had TLS.
		if from := via[len(via)-1].URL; !IsSameOrigin(from, req.URL) {
			return &StrayError{Setting: setting, From: from, To: req.URL}
		}
		if len(via) >= mostRedirects {
			return errors.New("it redirects without end")
		}
		return nil
	}}
}

// mostRedirects is net/http's own limit.
const mostRedirects = 10

// StrayError is a redirect to another origin, which gets nothing. Setting is New's.
type StrayError struct {
	Setting  string
	From, To *url.URL
}

// Error names the addresses, without users and queries.
func (e *StrayError) Error() string {
	return fmt.Sprintf("%s redirects to %s, which is sent nothing: name that address as %s, if it is right", Shown(e.From), Shown(e.To), e.Setting)
}

// Shown returns an address without its user and query, which may hold secrets.
func Shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// IsSameOrigin reports whether an address is at the origin of home, or at the same host with TLS where
// home has none.
func IsSameOrigin(home, to *url.URL) bool {
	return strings.EqualFold(to.Host, home.Host) && (to.Scheme == home.Scheme || to.Scheme == "https")
}
