package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
)

// The defaults of a Config.
const (
	DefaultBaseURL          = "https://api.openai.com/v1"
	DefaultFirstByteTimeout = 120 * time.Second
	DefaultIdleTimeout      = 60 * time.Second
)

// Config says which service to call, and how. Nothing in it changes after New.
type Config struct {
	// Provider is the name that errors carry. Empty means "openai".
	Provider string
	// BaseURL is what "/chat/completions" is added to. Empty means OpenAI itself.
	// A query is kept (Azure's api-version), and a user and password are sent as
	// basic authorization where there is no APIKey.
	BaseURL string
	// APIKey may be empty: local servers need none.
	APIKey string
	// Model is used by requests that name none.
	Model string
	// Transport carries the requests. Nil means a new one that obeys the proxy
	// variables of the environment.
	Transport http.RoundTripper
	// FirstByteTimeout is how long the first byte of an answer may take, and
	// IdleTimeout how long the stream may be silent after it. 0 means the default,
	// a negative time means no limit.
	FirstByteTimeout time.Duration
	IdleTimeout      time.Duration
}

// Backend calls one service. It is safe for concurrent use.
type Backend struct {
	client    *goopenai.Client
	transport *transport
	config    Config
	baseURL   *url.URL // without its query
	secrets   redactor
}

var _ backends.Backend = (*Backend)(nil)

// New makes a backend and calls nothing. It fails if the base URL is none.
func New(cfg Config) (*Backend, error) {
	if cfg.Provider == "" {
		cfg.Provider = "openai"
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if cfg.Transport == nil {
		cfg.Transport = newHTTPTransport()
	}
	cfg.FirstByteTimeout = withDefault(cfg.FirstByteTimeout, DefaultFirstByteTimeout)
	cfg.IdleTimeout = withDefault(cfg.IdleTimeout, DefaultIdleTimeout)
	base, query, err := parseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	b := &Backend{
		config:    cfg,
		baseURL:   base,
		transport: &transport{base: cfg.Transport, query: query},
		secrets:   newRedactor(cfg.APIKey, base, query),
	}
	settings := goopenai.DefaultConfig(cfg.APIKey)
	settings.BaseURL = base.String()
	settings.HTTPClient = &http.Client{Transport: b.transport}
	b.client = goopenai.NewClientWithConfig(settings)
	return b, nil
}

// parseBaseURL parts the query from the rest: go-openai adds paths to the end of
// the text. The errors do not show the URL, which may hold a password.
func parseBaseURL(text string) (*url.URL, url.Values, error) {
	base, err := url.Parse(text)
	if err != nil {
		return nil, nil, errors.New("base_url is not a URL: it should look like https://host/v1")
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, nil, errors.New("base_url lacks http:// or https:// and a host: it should look like https://host/v1")
	}
	query := base.Query()
	base.RawQuery, base.Fragment = "", ""
	base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/chat/completions")
	return base, query, nil
}

func withDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
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

// Close closes the connections that no call uses. The backend still works after it.
func (b *Backend) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

// Stream calls the model once, without a retry; only where a connection that was
// used before turns out to be closed, before any byte of an answer, net/http
// sends the request once more on a new one, and the trace shows both. Its errors are *backends.Error;
// one that comes after the model was reached and before it answered whole is
// KindNetwork or KindTimeout, also when the service only stopped talking: a
// stream that was cut is never an answer.
func (b *Backend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		a := attempt{backend: b, req: req, parent: ctx}
		err := a.run(func(ev backends.Event) bool { return yield(ev, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped says that the reader of the stream broke out of its loop.
var errStopped = errors.New("the reader stopped")

// attempt is one request on the wire and its answer.
type attempt struct {
	backend *Backend
	req     backends.Request
	parent  context.Context
	ctx     context.Context
	wire    *exchange
	emit    func(backends.Event) bool
	begun   bool
}

// run gives each event to emit, until emit says false (errStopped).
func (a *attempt) run(emit func(backends.Event) bool) error {
	if err := a.parent.Err(); err != nil {
		return a.failure(err)
	}
	ctx, cancel := context.WithCancelCause(a.parent)
	defer cancel(nil)
	request, overlay, err := encode(a.req, a.backend.config.Model, a.backend.baseURL.Host)
	if err != nil {
		return a.backend.localError(err)
	}
	a.wire = &exchange{
		overlay: overlay,
		headers: a.req.Params.Headers,
		trace:   backends.TraceFrom(a.parent),
		watch:   newWatchdog(cancel, a.backend.config.FirstByteTimeout, a.backend.config.IdleTimeout),
	}
	defer a.wire.watch.stop()
	a.ctx, a.emit = withExchange(ctx, a.wire), emit
	stream, err := a.backend.client.CreateChatCompletionStream(a.ctx, request)
	if err != nil {
		return a.failure(err)
	}
	err = a.read(stream)
	if err == nil {
		a.wire.drain()
	}
	if closeErr := stream.Close(); closeErr != nil && err == nil {
		return a.failure(fmt.Errorf("close the stream: %w", closeErr))
	}
	return err
}

// read gives the events of a stream to a.emit, until the answer is whole.
func (a *attempt) read(stream *goopenai.ChatCompletionStream) error {
	answer := newAnswer(a.req.Key)
	for {
		raw, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if answer.finished() && a.parent.Err() == nil && !isStreamError(err) {
				break // all that was missing is usage and the end mark
			}
			return a.fail(answer, err)
		}
		events, err := answer.add(raw)
		a.begun = answer.begun
		if err != nil {
			return a.fail(answer, err)
		}
		if err := a.send(events); err != nil {
			return err
		}
		if answer.finished() {
			a.wire.watch.limitIdle(trailerTimeout)
		}
	}
	if !answer.finished() && !a.wire.sawEndMark() {
		return a.fail(answer, errCut)
	}
	events, err := answer.end()
	if err != nil {
		return a.fail(answer, err)
	}
	return a.send(events)
}

// fail ends an answer that had begun, and tells what is known of its cost first: it
// was paid for.
func (a *attempt) fail(answer *answer, err error) error {
	if answer.usage != nil {
		if err := a.send([]backends.Event{answer.usage.event()}); err != nil {
			return err
		}
	}
	return a.failure(err)
}

// trailerTimeout is how long to wait for usage and end mark after a finish
// reason: the answer is whole by then.
const trailerTimeout = 5 * time.Second

func (a *attempt) send(events []backends.Event) error {
	for _, ev := range events {
		if !a.emit(ev) {
			return errStopped
		}
	}
	return nil
}
