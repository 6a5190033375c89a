package openai

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// DefaultBaseURL is where OpenAI itself is.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which service to call. Provider is "openai" and BaseURL OpenAI itself by
// default. "/chat/completions" is added to BaseURL, whose query is kept (Azure's
// api-version). APIKey is sent as a bearer token.
type Config = wire.Config

// Backend calls one service. It is safe for concurrent use.
type Backend struct {
	client  *goopenai.Client
	service *wire.Service
	dialect Dialect
	// unstreamed has a callKind for all calls that the service says it cannot stream,
	// and uncounted the models whose streams it says cannot have a usage.
	unstreamed, uncounted sync.Map
	// refusedFields has a modelField for each field of a Responses request that the service
	// says it does not take.
	refusedFields sync.Map
	// demands has the demands of each model whose service refused a request for them.
	demands sync.Map
}

// callKind is a kind of call. A service may be able to stream one kind and not another.
type callKind struct {
	model string
	tools bool
}

var _ backends.Backend = (*Backend)(nil)

// New makes a backend and calls nothing. It fails if the base URL is invalid. The service
// speaks OpenAI's dialect at OpenAI's own address, and Compatible at any other.
func New(cfg Config) (*Backend, error) {
	b, err := NewDialect(cfg, Compatible())
	if err == nil && b.service.BaseURL == DefaultBaseURL {
		b.dialect = OpenAI()
	}
	return b, err
}

// NewDialect makes a backend for a service that differs from OpenAI as d says. See New.
func NewDialect(cfg Config, d Dialect) (*Backend, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "openai")
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	service, err := wire.NewService(cfg, "/chat/completions", "/responses")
	if err != nil {
		return nil, err
	}
	settings := goopenai.DefaultConfig(cfg.APIKey)
	settings.BaseURL = service.BaseURL
	settings.HTTPClient = service.Client()
	return &Backend{
		client:  goopenai.NewClientWithConfig(settings),
		service: service,
		dialect: d,
	}, nil
}

// Close closes the connections that no call uses. The backend still works after it.
func (b *Backend) Close() error { return b.service.Close() }

// Stream calls the model once, without a retry. It sends the request again in these
// cases alone, under the same limits of time, and the trace shows each body:
//
//   - net/http found a used connection closed before any byte of an answer.
//   - The service cannot stream the call. Stream asks for a whole answer, and from then on
//     for all calls of the model with tools, or for all without, as this one was.
//   - The service refuses a field on which the answer does not depend: the usage of a
//     stream, and over the Responses API include and store. Stream leaves the field out,
//     also of the model's later calls.
//   - The service wants definitions of the tools in the messages, also where the request
//     offers none. Stream adds them with tool_choice none, and without it if the service
//     refuses that, also to the model's later calls.
//   - The service wants the signature of a thought for calls of other models. Stream sends
//     the one that Google's documentation gives for them, also in the model's later calls.
//   - Over the Responses API, the service cannot open reasoning of an earlier answer.
//     Stream leaves out what only the service can read.
//
// A parameter that the dialect does not allow is KindBadRequest, and nothing is sent.
//
// The errors are *backends.Error. An error after the model was reached and before it
// answered whole is KindNetwork or KindTimeout, also when the service only stopped
// talking: a stream that was cut is never an answer. Stream yields the usage that the
// service reported before that.
func (b *Backend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	req.Model = cmp.Or(req.Model, b.service.Model)
	return wire.Stream(func(emit wire.Emit) error {
		fitted, restoring := b.dialect.Rules(req.Model).Request(req, emit)
		return b.run(ctx, &fitted, restoring)
	})
}

// run makes the call, and once more for each demand that the service's refusal shows.
func (b *Backend) run(ctx context.Context, req *backends.Request, emit wire.Emit) error {
	for {
		known := b.demandsOf(req.Model)
		err := b.ask(ctx, known, known.fit(req), emit)
		learned := known.after(err, req)
		if learned == known {
			return err
		}
		b.demands.Store(req.Model, learned)
	}
}

// ask makes the call. If the service cannot stream it, ask asks once more, for a whole answer.
func (b *Backend) ask(ctx context.Context, known demands, req *backends.Request, emit wire.Emit) error {
	if b.dialect.callsOverResponses(req.Model, req.Params.Hosted) {
		return b.runResponses(ctx, req, emit)
	}
	e := b.encoder(req.Model)
	e.signsForeign = known.signatures
	fields, err := e.encode(req)
	if err != nil {
		return b.localError(err)
	}
	send := func() error { return b.attempt(ctx, req, fields, emit) }
	if _, refused := b.uncounted.Load(req.Model); refused {
		fields["stream_options"] = nil
	}
	kind := callKind{req.Model, len(req.Tools) > 0}
	if _, refused := b.unstreamed.Load(kind); !refused {
		err := send()
		if saysNoStreamUsage(err) {
			b.uncounted.Store(req.Model, true)
			fields["stream_options"] = nil
			err = send()
		}
		if !wire.SaysNoStream(err) {
			return err
		}
		b.unstreamed.Store(kind, true)
	}
	fields["stream"], fields["stream_options"] = false, nil
	return send()
}

func (b *Backend) encoder(model string) encoder {
	return encoder{provider: b.service.Provider, model: model, dialect: b.dialect, shared: b.service.Shared}
}

// attempt sends the fields of a request once.
func (b *Backend) attempt(ctx context.Context, req *backends.Request, fields map[string]any, emit wire.Emit) error {
	body, err := wire.Object(fields)
	if err != nil {
		return b.service.LocalError(err)
	}
	answer := newAnswer(req.Key, b.dialect, origin{b.service.Provider, req.Model})
	answer.searches = req.Params.Hosted.WebSearch
	_, answer.others.ignored = req.Params.ExtraBody["n"]
	return wire.Attempt[chunk]{
		Headers: req.Params.Headers,
		Body:    body,
		Open: func(ctx context.Context) error {
			_, err := b.client.CreateChatCompletionStream(ctx, goopenai.ChatCompletionRequest{Model: req.Model})
			return err
		},
		Answer:   answer,
		IsAnswer: isAnswer,
		Marked:   true,
		Abandon:  answer.abandon,
	}.Run(ctx, b.service, emit)
}

// localError returns the error of a request that was not sent. If tools cannot be sent,
// it has NoTools, as the service's own refusal would.
func (b *Backend) localError(err error) error {
	var refused *backends.ParamError
	out := b.service.LocalError(err)
	var e *backends.Error
	if errors.As(err, &refused) && refused.Param == "tool_mode" && errors.As(out, &e) {
		e.NoTools = true
	}
	return out
}

// saysNoStreamUsage reports whether err is the refusal of a service that takes no
// stream_options, as older versions of Azure's and proxies do.
func saysNoStreamUsage(err error) bool {
	var e *backends.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	return strings.Contains(e.Message, "stream_options")
}
