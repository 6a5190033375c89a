package gemini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"google.golang.org/genai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/wire"
)

// DefaultBaseURL is where Google's own service is.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Config says which service to call, and how. Nothing in it changes after New.
type Config struct {
	// Provider is the name that errors carry, and opaque parts. Empty means "gemini".
	Provider string
	// BaseURL is what "/v1beta/models/MODEL:streamGenerateContent" is added to.
	// Empty means DefaultBaseURL. A query is kept.
	BaseURL string
	// APIKey is sent in the header x-goog-api-key. It may be empty for a service
	// that asks for none.
	APIKey string
	// Model is used by requests that name none.
	Model string
	// Transport carries the requests. Nil means a new one that obeys the proxy
	// variables of the environment.
	Transport http.RoundTripper
	// FirstByteTimeout is how long the first byte of an answer may take, and
	// IdleTimeout how long the stream may be silent after it. 0 means the default
	// of package wire, a negative time means no limit.
	FirstByteTimeout time.Duration
	IdleTimeout      time.Duration
}

// Backend calls one service. It is safe for concurrent use.
type Backend struct {
	client   *genai.Client
	service  *wire.Service
	provider string
	model    string
}

var _ backends.Backend = (*Backend)(nil)

// apiVersion is the version of the API whose tools take a JSON Schema.
const apiVersion = "v1beta"

// noKey is sent where there is no key. Without one the library would look for a
// key in the environment, and send it to whatever service this is.
const noKey = "none"

// New makes a backend and calls nothing. It fails if the base URL is none.
func New(cfg Config) (*Backend, error) {
	if cfg.Provider == "" {
		cfg.Provider = "gemini"
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	service, err := wire.NewService(wire.Settings{
		Provider:         cfg.Provider,
		BaseURL:          cfg.BaseURL,
		Paths:            []string{"/" + apiVersion},
		APIKey:           cfg.APIKey,
		Transport:        cfg.Transport,
		FirstByteTimeout: cfg.FirstByteTimeout,
		IdleTimeout:      cfg.IdleTimeout,
	})
	if err != nil {
		return nil, err
	}
	key := cfg.APIKey
	if key == "" {
		key = noKey
	}
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  service.Client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: service.BaseURL(), APIVersion: apiVersion},
	})
	if err != nil {
		return nil, errors.New("the client library cannot be set up") // its error shows the key
	}
	return &Backend{client: client, service: service, provider: cfg.Provider, model: cfg.Model}, nil
}

// Close closes the connections that no call uses. The backend still works after it.
func (b *Backend) Close() error {
	b.service.CloseIdleConnections()
	return nil
}

// Stream calls the model once, without a retry. Its errors are *backends.Error;
// one that comes after the model was reached and before it answered whole is
// KindNetwork or KindTimeout, also when the service only stopped talking: a
// stream without a finish reason was cut, and is never an answer. An answer or a
// prompt that the provider blocks is KindRefused. A parameter that Gemini does not
// take is KindBadRequest, and nothing is sent.
func (b *Backend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return wire.Stream(func(emit wire.Emit) error {
		a := attempt{emit: emit}
		return a.run(ctx, b, req)
	})
}

// attempt is one request on the wire and its answer.
type attempt struct {
	wire   *wire.Exchange
	stream *eventStream // nil before the answer
	answer answer
	emit   wire.Emit
}

func (a *attempt) run(ctx context.Context, b *Backend, req backends.Request) error {
	a.wire = b.service.Begin(ctx, req.Params.Headers)
	defer a.wire.End()
	if err := ctx.Err(); err != nil {
		return a.failure(err)
	}
	model := req.Model
	if model == "" {
		model = b.model
	}
	if model == "" {
		return b.service.LocalError(errors.New("no model is named"))
	}
	body, err := encode(req, b.provider, model)
	if err != nil {
		return b.service.LocalError(err)
	}
	a.answer = answer{key: req.Key, provider: b.provider, model: model}
	a.wire.Rewrite = func([]byte) ([]byte, error) { return body, nil }
	a.wire.Show = func(body io.ReadCloser) io.ReadCloser {
		a.stream = newEventStream(body)
		return a.stream
	}
	config := &genai.GenerateContentConfig{AutomaticContinuation: genai.Ptr(false)}
	for _, err := range b.client.Models.GenerateContentStream(a.wire.Context(), model, nil, config) {
		if err != nil {
			return a.failure(err)
		}
		if err := a.take(a.stream.data); err != nil {
			return err
		}
	}
	return a.end()
}

// take reads an event of the service.
func (a *attempt) take(data []byte) error {
	events, problem := a.answer.add(data)
	if err := a.emit(events...); err != nil {
		return err
	}
	if problem != nil {
		return a.failure(problem)
	}
	if a.answer.finished() && a.answer.hasContent {
		a.wire.LimitRest(wire.TrailerTimeout)
	}
	return nil
}

// end handles the end of the stream. Once a finish reason has come, all that could
// be missing is usage.
func (a *attempt) end() error {
	err := a.stream.err
	switch {
	case errors.Is(err, io.EOF) && !a.answer.finished():
		return a.failure(wire.ErrCut)
	case !errors.Is(err, io.EOF) && (!a.answer.finished() || a.wire.AskedToStop() || wire.IsStreamError(err)):
		return a.failure(fmt.Errorf("read the stream: %w", err))
	}
	return a.emit(a.answer.end()...)
}

func (a *attempt) failure(err error) error { return a.wire.Failure(err, a.answer.begun) }
