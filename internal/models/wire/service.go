package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/httpclient"
)

// The time limits of the zero Config.
const (
	DefaultFirstByteTimeout = 120 * time.Second
	DefaultIdleTimeout      = 60 * time.Second
)

// Config says which service to call, and how. Nothing in it changes after the adapter
// has taken it.
type Config struct {
	// Provider is the name that errors and opaque parts carry.
	Provider string
	// BaseURL is what the library adds its paths to; a path of the protocol at its end
	// is cut off. A query is added to each request, and a user and password are sent as
	// basic authorization where there is no APIKey.
	BaseURL string
	// APIKey may be empty: local servers need no key, and some services take it in a
	// header of their own.
	APIKey string
	// Headers are sent with each request that has no header of the same name.
	Headers map[string]string
	// Model is used by requests that name no model.
	Model string
	// Transport carries the requests. Nil means the transport of Shared, which obeys the
	// proxy variables of the environment.
	Transport http.RoundTripper
	// Shared is what the adapter shares with others of the same account. Nil means that it
	// shares nothing.
	Shared *Shared
	// FirstByteTimeout is how long the first byte of an answer may take, and
	// IdleTimeout how long the answer may be silent after it. 0 means the default,
	// a negative time means no limit.
	FirstByteTimeout time.Duration
	IdleTimeout      time.Duration
}

// Service is one service as all its exchanges see it. It is safe for concurrent
// use.
type Service struct {
	// Config is as it was given, but for what NewService fills in and cuts off.
	Config

	transport *transport
	secrets   redactor
}

// NewService checks the base URL and calls nothing. It cuts the query off from the URL,
// a slash at its end, and paths, which the library will add, one after the other.
func NewService(cfg Config, paths ...string) (*Service, error) {
	cfg.FirstByteTimeout = cmp.Or(cfg.FirstByteTimeout, DefaultFirstByteTimeout)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, DefaultIdleTimeout)
	if cfg.Shared == nil {
		cfg.Shared = NewShared(cfg.FirstByteTimeout, cfg.IdleTimeout)
	}
	if cfg.Transport == nil {
		cfg.Transport = cfg.Shared.transport
	}
	base, query, err := parseBaseURL(cfg.BaseURL, paths)
	if err != nil {
		return nil, err
	}
	secrets := newRedactor(cfg.APIKey, cfg.BaseURL)
	cfg.BaseURL = base.String()
	return &Service{
		Config: cfg, secrets: secrets, transport: &transport{base: cfg.Transport, home: base, query: query},
	}, nil
}

// baseURLSetting is the key of a configuration for the service's address.
const baseURLSetting = "base_url"

// Client returns a client for a library. It sends only requests whose context is
// an exchange's.
func (s *Service) Client() *http.Client { return httpclient.New(s.transport, baseURLSetting) }

// Close closes the connections that no call uses. The service still works after it.
func (s *Service) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// LocalError is the failure of a request that could not be made.
func (s *Service) LocalError(err error) error {
	return s.secrets.clean(&backends.Error{
		Provider: s.Provider, Kind: backends.KindBadRequest, Message: err.Error(), Free: true,
	})
}

// begin starts an exchange and its time limits. The caller calls end. The headers are
// sent beside the library's own, and replace headers of the same name.
func (s *Service) begin(ctx context.Context, headers map[string]string) *exchange {
	all := map[string]string{}
	maps.Copy(all, s.Headers)
	maps.Copy(all, headers)
	x := &exchange{service: s, parent: ctx, headers: all, trace: backends.TraceFrom(ctx)}
	inner, cancel := context.WithCancelCause(ctx)
	x.cancel = cancel
	x.ctx = httptrace.WithClientTrace(context.WithValue(inner, exchangeKey{}, x), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			x.connected.Store(true)
			if x.connections.Add(1) > 2 {
				cancel(errSentTwice)
			}
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) { x.refusedTLS.Store(err != nil) },
	})
	x.watch = newWatchdog(cancel, s.FirstByteTimeout, s.IdleTimeout)
	return x
}

// Get returns the body that answers the request which open has the library send. No
// trace is shown it, and only ctx limits its time.
func (s *Service) Get(ctx context.Context, open func(ctx context.Context) error) ([]byte, error) {
	x := s.begin(backends.WithTrace(ctx, &backends.Trace{}), nil)
	defer x.end()
	x.watch.remove()
	err := x.open(open)
	if err != nil {
		return nil, x.fail(err, false)
	}
	var answer io.ReadCloser = x.kept
	defer answer.Close()
	body, err := io.ReadAll(answer)
	if err != nil {
		return nil, x.fail(err, false)
	}
	return body, nil
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
const maxIdleConnections = 1024

func newHTTPTransport(limits *http.HTTP2Config) http.RoundTripper {
	t := httpclient.NewTransport(limits)
	t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdleConnections, maxIdleConnections
	return t
}
