package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
)

// The time limits of a Settings that sets none.
const (
	DefaultFirstByteTimeout = 120 * time.Second
	DefaultIdleTimeout      = 60 * time.Second
)

// Settings says which service to call, and how.
type Settings struct {
	// Provider is the name that errors carry.
	Provider string
	// BaseURL is where the service is. A user and password in it are left to
	// net/http, its query is added to each request.
	BaseURL string
	// Paths are cut off from the end of BaseURL, one after the other: what the
	// library will add.
	Paths []string
	// APIKey is only kept out of errors here; sending it is the library's task.
	APIKey string
	// Transport carries the requests. Nil means a new one that obeys the proxy
	// variables of the environment.
	Transport http.RoundTripper
	// FirstByteTimeout is how long the first byte of an answer may take, and
	// IdleTimeout how long the answer may be silent after it. 0 means the default,
	// a negative time means no limit.
	FirstByteTimeout time.Duration
	IdleTimeout      time.Duration
}

// Service is one service as all its exchanges see it. It is safe for concurrent
// use.
type Service struct {
	settings  Settings
	baseURL   *url.URL
	transport *transport
	secrets   redactor
}

// NewService checks the base URL and calls nothing.
func NewService(s Settings) (*Service, error) {
	if s.Transport == nil {
		s.Transport = newHTTPTransport()
	}
	s.FirstByteTimeout = cmp.Or(s.FirstByteTimeout, DefaultFirstByteTimeout)
	s.IdleTimeout = cmp.Or(s.IdleTimeout, DefaultIdleTimeout)
	base, query, err := parseBaseURL(s.BaseURL, s.Paths)
	if err != nil {
		return nil, err
	}
	return &Service{
		settings:  s,
		baseURL:   base,
		transport: &transport{base: s.Transport, home: base, query: query},
		secrets:   newRedactor(s.APIKey, s.BaseURL),
	}, nil
}

// BaseURL returns the base URL without its query and without a slash at the end.
func (s *Service) BaseURL() string { return s.baseURL.String() }

// Client returns a client for a library. It sends only requests whose context is
// that of an Exchange.
func (s *Service) Client() *http.Client { return &http.Client{Transport: s.transport} }

// CloseIdleConnections closes the connections that no call uses.
func (s *Service) CloseIdleConnections() { s.transport.CloseIdleConnections() }

// LocalError is the failure of a request that could not be made.
func (s *Service) LocalError(err error) error {
	return s.secrets.clean(&backends.Error{
		Provider: s.settings.Provider, Kind: backends.KindBadRequest, Message: err.Error(), Free: true,
	})
}

// Begin starts an exchange and its time limits. Whoever begins it calls End. The
// headers are added to those of the library; a name that is the library's too
// replaces it.
func (s *Service) Begin(ctx context.Context, headers map[string]string) *Exchange {
	x := &Exchange{service: s, parent: ctx, headers: headers, trace: backends.TraceFrom(ctx)}
	inner, cancel := context.WithCancelCause(ctx)
	x.cancel = cancel
	x.ctx = context.WithValue(inner, exchangeKey{}, x)
	x.watch = newWatchdog(cancel, s.settings.FirstByteTimeout, s.settings.IdleTimeout)
	return x
}

// parseBaseURL parts the query from the rest: libraries add paths to the end of
// the text. The errors do not show the URL, which may hold a password.
func parseBaseURL(text string, paths []string) (*url.URL, url.Values, error) {
	base, err := url.Parse(text)
	if err != nil {
		return nil, nil, errors.New("base_url is not a URL: it should look like https://host/v1")
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, nil, errors.New("base_url lacks http:// or https:// and a host: it should look like https://host/v1")
	}
	if port := base.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, nil, fmt.Errorf("base_url has the port %s: a port is 65535 at most", port)
		}
	}
	query := base.Query()
	base.RawQuery, base.Fragment = "", ""
	base.Path = strings.TrimRight(base.Path, "/")
	for _, p := range paths {
		base.Path = strings.TrimSuffix(base.Path, p)
	}
	return base, query, nil
}

// maxIdleConnections keeps the connections of a large panel between its rounds.
const maxIdleConnections = 128

func newHTTPTransport() http.RoundTripper {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        maxIdleConnections,
		MaxIdleConnsPerHost: maxIdleConnections,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}
