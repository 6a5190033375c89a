package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/wire"
)

// DefaultBaseURL is where Anthropic itself is.
const DefaultBaseURL = "https://api.anthropic.com"

// Config says which service to call, and how. Nothing in it changes after New.
type Config struct {
	// Provider is the name that errors and opaque parts carry. Empty means
	// "anthropic".
	Provider string
	// BaseURL is what "/v1/messages" is added to; that or "/v1" at its end is taken
	// for the same. Empty means Anthropic itself.
	BaseURL string
	// APIKey is sent as X-Api-Key. It may be empty: local servers need none, and
	// others take it in a header of their own.
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
	messages sdk.MessageService
	service  *wire.Service
	provider string
	model    string
}

var _ backends.Backend = (*Backend)(nil)

// New makes a backend and calls nothing. It fails if the base URL is none.
func New(cfg Config) (*Backend, error) {
	if cfg.Provider == "" {
		cfg.Provider = "anthropic"
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	service, err := wire.NewService(wire.Settings{
		Provider:         cfg.Provider,
		BaseURL:          cfg.BaseURL,
		Paths:            []string{"/messages", "/v1"},
		APIKey:           cfg.APIKey,
		Transport:        cfg.Transport,
		FirstByteTimeout: cfg.FirstByteTimeout,
		IdleTimeout:      cfg.IdleTimeout,
	})
	if err != nil {
		return nil, err
	}
	// A client would look for keys and more in the environment; a service does not.
	options := []option.RequestOption{
		option.WithBaseURL(service.BaseURL()),
		option.WithHTTPClient(service.Client()),
		option.WithMaxRetries(0),
	}
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	return &Backend{
		messages: sdk.NewMessageService(options...),
		service:  service,
		provider: cfg.Provider,
		model:    cfg.Model,
	}, nil
}

// Close closes the connections that no call uses. The backend still works after it.
func (b *Backend) Close() error {
	b.service.CloseIdleConnections()
	return nil
}

// Stream calls the model once, without a retry. Its errors are *backends.Error. A
// setting that the model cannot take is KindBadRequest, and nothing is sent. An
// error after the model was reached and before it answered whole is KindNetwork or
// KindTimeout, also when the service only stopped talking: a stream that was cut is
// never an answer. An answer that was withheld is KindRefused, after its usage.
//
// Without Params.MaxTokens, which the protocol wants, max_tokens is 8192 (4096 for
// the models before 3.5, which have no more), plus what the reasoning effort may
// take.
func (b *Backend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return wire.Stream(func(emit wire.Emit) error {
		a := attempt{emit: emit}
		return a.run(ctx, b, req)
	})
}

// attempt is one request on the wire and its answer.
type attempt struct {
	wire   *wire.Exchange
	answer answer
	emit   wire.Emit
}

func (a *attempt) run(ctx context.Context, b *Backend, req backends.Request) error {
	a.wire = b.service.Begin(ctx, req.Params.Headers)
	defer a.wire.End()
	if err := ctx.Err(); err != nil {
		return a.failure(err)
	}
	if req.Model == "" {
		req.Model = b.model
	}
	params, err := encode(req, b.provider)
	if err != nil {
		return b.service.LocalError(err)
	}
	a.answer = answer{key: req.Key, provider: b.provider, model: req.Model}
	a.wire.Rewrite = func(body []byte) ([]byte, error) { return wire.Merge(body, req.Params.ExtraBody) }
	a.wire.Show = func(body io.ReadCloser) io.ReadCloser { return newEventStream(body) }
	stream := b.messages.NewStreaming(a.wire.Context(), params)
	if err := stream.Err(); err != nil {
		return a.failure(err)
	}
	err = a.read(stream)
	if err == nil {
		a.wire.Drain()
	}
	if closeErr := stream.Close(); closeErr != nil && err == nil {
		return a.failure(fmt.Errorf("close the stream: %w", closeErr))
	}
	return err
}

// read gives the events of a stream to a.emit, until the answer is whole.
func (a *attempt) read(stream *ssestream.Stream[sdk.MessageStreamEventUnion]) error {
	for !a.answer.stopped && stream.Next() {
		events, problem := a.answer.add(stream.Current())
		if err := a.emit(events...); err != nil {
			return err
		}
		if problem != nil {
			return a.failure(problem)
		}
		if a.answer.finished() {
			a.wire.LimitRest(wire.TrailerTimeout)
		}
	}
	err := stream.Err()
	if err != nil && (!a.answer.finished() || a.wire.AskedToStop() || wire.IsStreamError(err)) {
		if unreadable := asUnreadable(err); unreadable != nil {
			a.answer.begun, err = true, unreadable
		}
		return a.failure(err)
	}
	if !a.answer.finished() && !a.answer.stopped {
		return a.failure(wire.ErrCut)
	}
	events, err := a.answer.end()
	if emitErr := a.emit(events...); emitErr != nil {
		return emitErr
	}
	if err != nil {
		return a.failure(err)
	}
	return nil
}

// asUnreadable says what an error of the library's decoder is about. Any other error
// gives nil.
func asUnreadable(err error) error {
	var noJSON *json.SyntaxError
	if errors.As(err, &noJSON) {
		return fmt.Errorf("a piece of the stream cannot be read: %w", err)
	}
	return nil
}

func (a *attempt) failure(err error) error {
	return a.wire.Failure(err, a.answer.begun, a.answer.cut()...)
}
