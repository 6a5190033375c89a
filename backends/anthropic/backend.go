package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/toolfit"
	"github.com/massgen/massgen/internal/models/wire"
)

// DefaultBaseURL is where Anthropic itself is.
const DefaultBaseURL = "https://api.anthropic.com"

// Config says which service to call. Provider is "anthropic" and BaseURL Anthropic
// itself by default. "/v1/messages" is added to BaseURL; that or "/v1" at its end is
// taken for the same. APIKey is sent as X-Api-Key.
type Config = wire.Config

// Backend calls one service. It is safe for concurrent use.
type Backend struct {
	messages sdk.MessageService
	models   sdk.ModelService
	service  *wire.Service
	// isAnthropic reports whether the service is Anthropic's own, and not another with its protocol.
	isAnthropic bool
}

var _ backends.Backend = (*Backend)(nil)

// New makes a backend and calls nothing. It fails if the base URL is invalid.
func New(cfg Config) (*Backend, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "anthropic")
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	service, err := wire.NewService(cfg, "/messages", "/v1")
	if err != nil {
		return nil, err
	}
	// A client would look for keys and more in the environment; a service does not.
	options := []option.RequestOption{
		option.WithBaseURL(service.BaseURL),
		option.WithHTTPClient(service.Client()),
		option.WithMaxRetries(0),
	}
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	return &Backend{
		messages: sdk.NewMessageService(options...),
		models:   sdk.NewModelService(options...),
		service:  service,

		isAnthropic: strings.HasPrefix(service.BaseURL, DefaultBaseURL),
	}, nil
}

// Close closes the connections that no call uses. The backend still works after it.
func (b *Backend) Close() error { return b.service.Close() }

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
	return wire.Stream(func(emit wire.Emit) error { return b.run(ctx, req, emit) })
}

func (b *Backend) run(ctx context.Context, req backends.Request, emit wire.Emit) error {
	req.Model = cmp.Or(req.Model, b.service.Model)
	req, emit = toolfit.Claude().Request(req, emit)
	params, err := encode(req, b.service.Provider)
	if err != nil {
		return b.service.LocalError(err)
	}
	body, err := encodeBody(params, req.Params.ExtraBody)
	if err != nil {
		return b.service.LocalError(err)
	}
	answer := &answer{key: req.Key, provider: b.service.Provider, model: req.Model, pages: fetchedBefore(req, b.service.Provider)}
	return wire.Attempt[sdk.MessageStreamEventUnion]{
		Headers:  headers(params, req.Params.Headers, b.isAnthropic),
		Body:     wire.Encoded{body},
		Open:     func(ctx context.Context) error { return b.messages.NewStreaming(ctx, params).Err() },
		Answer:   answer,
		IsAnswer: isAnswer,
		Abandon:  answer.abandon,
	}.Run(ctx, b.service, emit)
}

// interleaved has models of 4 to 4.6 that think by a budget do so between their tool calls,
// too. Those that decide themselves how much they think do it without.
const interleaved = sdk.AnthropicBetaInterleavedThinking2025_05_14

// eager has the service send the arguments of a tool call while the model writes them. Without it, an argument
// comes when it is whole. The arguments may then be invalid JSON, as from other services ("Fine-grained tool streaming"
// in the docs of the API).
const eager = "fine-grained-tool-streaming-2025-05-14"

// headers returns the headers of a request: its own, and the betas that it needs. Services that translate the protocol
// may refuse a beta for speed alone.
func headers(p sdk.MessageNewParams, own map[string]string, isAnthropic bool) map[string]string {
	var betas []string
	if len(p.Tools) > 0 && p.Thinking.OfEnabled != nil && versionOf(p.Model) >= version4 {
		betas = append(betas, interleaved)
	}
	if len(p.Tools) > 0 && isAnthropic {
		betas = append(betas, eager)
	}
	if len(betas) == 0 {
		return own
	}
	const name = "anthropic-beta"
	out, value := map[string]string{}, ""
	for k, v := range own {
		if strings.EqualFold(k, name) {
			value = v
		} else {
			out[k] = v
		}
	}
	for _, beta := range betas {
		if !strings.Contains(value, beta) {
			value = strings.TrimPrefix(value+","+beta, ",")
		}
	}
	out[name] = value
	return out
}

// encodeBody makes the body of a request.
func encodeBody(params sdk.MessageNewParams, extra map[string]any) ([]byte, error) {
	body, err := params.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	fields := map[string]any{"stream": true}
	maps.Copy(fields, extra)
	return wire.Merge(body, fields)
}
