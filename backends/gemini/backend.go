package gemini

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"google.golang.org/genai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/toolfit"
	"github.com/massgen/massgen/internal/models/wire"
)

// DefaultBaseURL is where Google's own service is.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Config says which service to call. Provider is "gemini" and BaseURL Google's own
// service by default. "/v1beta/models/MODEL:streamGenerateContent" is added to BaseURL.
// APIKey is sent in the header x-goog-api-key.
type Config = wire.Config

// Backend calls one service. It is safe for concurrent use.
type Backend struct {
	client  *genai.Client
	service *wire.Service
}

var _ backends.Backend = (*Backend)(nil)

// apiVersion is the version of the API whose tools take a JSON Schema.
const apiVersion = "v1beta"

// noKey is sent where there is no key. Without one the library would look for a
// key in the environment, and send it to whatever service this is.
const noKey = "none"

// New makes a backend and calls nothing. It fails if the base URL is invalid.
func New(cfg Config) (*Backend, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "gemini")
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	service, err := wire.NewService(cfg, "/"+apiVersion)
	if err != nil {
		return nil, err
	}
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:      cmp.Or(cfg.APIKey, noKey),
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  service.Client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: service.BaseURL, APIVersion: apiVersion},
	})
	if err != nil {
		return nil, errors.New("the client library cannot be set up") // its error shows the key
	}
	return &Backend{client: client, service: service}, nil
}

// Close closes the connections that no call uses. The backend still works after it.
func (b *Backend) Close() error { return b.service.Close() }

// Stream calls the model once, without a retry. Its errors are *backends.Error;
// one that comes after the model was reached and before it answered whole is
// KindNetwork or KindTimeout, also when the service only stopped talking: a
// stream without a finish reason was cut, and is never an answer. An answer or a
// prompt that the provider blocks is KindRefused. A parameter that Gemini does not
// take is KindBadRequest, and nothing is sent.
func (b *Backend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return wire.Stream(func(emit wire.Emit) error { return b.run(ctx, req, emit) })
}

func (b *Backend) run(ctx context.Context, req backends.Request, emit wire.Emit) error {
	model := cmp.Or(req.Model, b.service.Model)
	if model == "" {
		return b.service.LocalError(errors.New("no model is named"))
	}
	req, emit = toolfit.Gemini().Request(req, emit)
	body, err := encode(req, b.service.Provider, model)
	if err != nil {
		return b.service.LocalError(err)
	}
	config := &genai.GenerateContentConfig{AutomaticContinuation: genai.Ptr(false)}
	return wire.Attempt[chunk]{
		Headers: req.Params.Headers,
		Body:    wire.Encoded{body},
		Open: func(ctx context.Context) error {
			for _, err := range b.client.Models.GenerateContentStream(ctx, model, nil, config) {
				return err
			}
			return nil
		},
		Answer:   &answer{key: req.Key, provider: b.service.Provider, model: model},
		IsAnswer: isAnswer,
	}.Run(ctx, b.service, emit)
}
