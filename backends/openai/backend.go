package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/wire"
)

// DefaultBaseURL is where OpenAI itself is.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which service to call, and how. Nothing in it changes after New.
type Config struct {
	// Provider is the name that errors and opaque parts carry. Empty means "openai".
	Provider string
	// Dialect is how the service differs from OpenAI. Nil means OpenAI at its own
	// address, and Compatible at any other.
	Dialect *Dialect
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
	// IdleTimeout how long the stream may be silent after it. 0 means the default
	// of package wire, a negative time means no limit.
	FirstByteTimeout time.Duration
	IdleTimeout      time.Duration
}

// Backend calls one service. It is safe for concurrent use.
type Backend struct {
	client   *goopenai.Client
	service  *wire.Service
	provider string
	dialect  Dialect
	model    string
	// unstreamed has a callKind for all calls that the service says it cannot stream,
	// and uncounted the models whose streams it says cannot have a usage.
	unstreamed, uncounted sync.Map
}

// callKind tells calls apart of which a service may stream some and not the others.
type callKind struct {
	model string
	tools bool
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
	service, err := wire.NewService(wire.Settings{
		Provider:         cfg.Provider,
		BaseURL:          cfg.BaseURL,
		Paths:            []string{"/chat/completions"},
		APIKey:           cfg.APIKey,
		Transport:        cfg.Transport,
		FirstByteTimeout: cfg.FirstByteTimeout,
		IdleTimeout:      cfg.IdleTimeout,
	})
	if err != nil {
		return nil, err
	}
	settings := goopenai.DefaultConfig(cfg.APIKey)
	settings.BaseURL = service.BaseURL()
	settings.HTTPClient = service.Client()
	return &Backend{
		client:   goopenai.NewClientWithConfig(settings),
		service:  service,
		provider: cfg.Provider,
		dialect:  dialectAt(service.BaseURL(), cfg.Dialect),
		model:    cfg.Model,
	}, nil
}

func dialectAt(baseURL string, given *Dialect) Dialect {
	switch {
	case given != nil:
		return *given
	case baseURL == DefaultBaseURL:
		return OpenAI()
	}
	return Compatible()
}

// Close closes the connections that no call uses. The backend still works after it.
func (b *Backend) Close() error {
	b.service.CloseIdleConnections()
	return nil
}

// Stream calls the model once, without a retry. Three things alone send it twice, and
// the trace shows both bodies: a connection that was used before and turns out to be
// closed, before any byte of an answer, is replaced by net/http; and a service that
// says that it cannot stream, or cannot tell its usage in a stream, is asked again
// without, under the same limits of time. That is remembered: what was refused, the
// model's calls with tools or those without, is not asked for as a stream again, nor
// its streams for their usage. A parameter that the dialect does not allow is
// KindBadRequest, and nothing is sent.
//
// The errors are *backends.Error; one that comes after the model was reached and
// before it answered whole is KindNetwork or KindTimeout, also when the service only
// stopped talking: a stream that was cut is never an answer. The usage that a service
// told before that is yielded first.
func (b *Backend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return wire.Stream(func(emit wire.Emit) error {
		a := attempt{emit: emit}
		return a.run(ctx, b, req)
	})
}

// attempt is one request and its answer, in one exchange on the wire or two.
type attempt struct {
	wire   *wire.Exchange
	stream *eventStream // nil without an answer
	emit   wire.Emit
	begun  bool
}

// run makes the call. A service that cannot stream what it is asked is asked once more,
// for a whole answer.
func (a *attempt) run(ctx context.Context, b *Backend, req backends.Request) error {
	if req.Model == "" {
		req.Model = b.model
	}
	request, overlay, err := encoder{b.provider, req.Model, b.dialect}.encode(req)
	if err != nil {
		return b.localError(err)
	}
	if _, refused := b.uncounted.Load(req.Model); refused {
		overlay["stream_options"] = nil
	}
	kind := callKind{req.Model, len(req.Tools) > 0}
	if _, refused := b.unstreamed.Load(kind); !refused {
		err := a.exchange(ctx, b, req, request, overlay)
		if saysNoStreamUsage(err) {
			b.uncounted.Store(req.Model, true)
			overlay["stream_options"] = nil
			err = a.exchange(ctx, b, req, request, overlay)
		}
		if !wire.SaysNoStream(err) {
			return err
		}
		b.unstreamed.Store(kind, true)
	}
	overlay["stream"], overlay["stream_options"] = false, nil
	return a.exchange(ctx, b, req, request, overlay)
}

// localError is the failure of a request that was not sent. That tools cannot be
// sent is told as the service would tell it.
func (b *Backend) localError(err error) error {
	var refused *backends.ParamError
	out := b.service.LocalError(err)
	var e *backends.Error
	if errors.As(err, &refused) && refused.Param == "tool_mode" && errors.As(out, &e) {
		e.NoTools = true
	}
	return out
}

// saysNoStreamUsage says whether err is the refusal of a service that takes no
// stream_options, as older versions of Azure's and proxies do.
func saysNoStreamUsage(err error) bool {
	var e *backends.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	return strings.Contains(e.Message, "stream_options")
}

// exchange sends one request and reads its answer.
func (a *attempt) exchange(
	ctx context.Context, b *Backend, req backends.Request, request goopenai.ChatCompletionRequest, overlay map[string]any,
) error {
	a.wire = b.service.Begin(ctx, req.Params.Headers)
	defer a.wire.End()
	if err := ctx.Err(); err != nil {
		return a.failure(err)
	}
	a.wire.Rewrite = func(body []byte) ([]byte, error) { return mergeBody(body, overlay) }
	a.wire.Show = func(body io.ReadCloser) io.ReadCloser {
		a.stream = newEventStream(body)
		return a.stream
	}
	stream, err := b.client.CreateChatCompletionStream(a.wire.Context(), request)
	if err != nil {
		return a.failure(err)
	}
	err = a.read(stream, newAnswer(req.Key, b.dialect, origin{b.provider, req.Model}))
	if err == nil {
		a.wire.Drain()
	}
	if closeErr := stream.Close(); closeErr != nil && err == nil {
		return a.failure(fmt.Errorf("close the stream: %w", closeErr))
	}
	return err
}

// read gives the events of a stream to a.emit, until the answer is whole.
func (a *attempt) read(stream *goopenai.ChatCompletionStream, answer *answer) error {
	for {
		raw, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if answer.finished() && !a.wire.AskedToStop() && !wire.IsStreamError(err) {
				break // all that was missing is usage and the end mark
			}
			return a.fail(answer, err)
		}
		events, err := answer.add(raw)
		a.begun = answer.begun
		if err != nil {
			return a.fail(answer, err)
		}
		if err := a.emit(events...); err != nil {
			return err
		}
		if answer.finished() {
			a.wire.LimitRest(wire.TrailerTimeout)
		}
	}
	if !answer.finished() && !a.sawEndMark() {
		return a.fail(answer, wire.ErrCut)
	}
	events, err := answer.end()
	if err != nil {
		return a.fail(answer, err)
	}
	return a.emit(events...)
}

func (a *attempt) sawEndMark() bool { return a.stream != nil && a.stream.done }

// fail ends an answer that had begun, and tells what is known of its cost first: it
// was paid for.
func (a *attempt) fail(answer *answer, err error) error {
	if answer.usage != nil {
		if err := a.emit(answer.usage.event()); err != nil {
			return err
		}
	}
	return a.wire.Failure(err, a.begun, answer.calls.merged()...)
}

func (a *attempt) failure(err error) error { return a.wire.Failure(err, a.begun) }
