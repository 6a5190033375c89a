package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// This package uses the Responses API ("Create a response" in OpenAI's reference) without a
// state at the service: the service stores nothing, and each request has the whole conversation.
//
// go-openai sends the request and names the events; the bodies are read and written here.
// Its structs drop the encrypted content and the texts of reasoning, the phase of a message
// and each item that they do not know; they round numbers to 32 bits, leave out a
// max_output_tokens of 0 and "strict": false, and lose a whole event if one of its fields has
// another form. Its stream ends as described at internal/models/wire.

// runResponses makes the call over the Responses API. If the service refuses to stream, or
// refuses a part of the request on which the answer does not depend, runResponses leaves that
// out and asks again.
func (b *Backend) runResponses(ctx context.Context, req *backends.Request, emit wire.Emit) error {
	e := b.encoder(req.Model)
	fields, err := e.encodeResponses(req)
	if err != nil {
		return b.localError(err)
	}
	kind := callKind{req.Model, len(req.Tools) > 0}
	const changes = 4 // no stream, no include, no store, no reasoning of another account
	for range changes + 1 {
		for name := range fields {
			if _, refused := b.refusedFields.Load(modelField{req.Model, name}); refused {
				fields[name] = nil
			}
		}
		if _, refused := b.unstreamed.Load(kind); refused {
			fields["stream"] = false
		}
		err = b.attemptResponse(ctx, req, fields, emit)
		field := refusedField(err)
		switch {
		case wire.SaysNoStream(err) && fields["stream"] == true:
			b.unstreamed.Store(kind, true)
		case field != "" && fields[field] != nil:
			b.refusedFields.Store(modelField{req.Model, field}, true)
		case saysForeignReasoning(err) && !e.withoutKept:
			e.withoutKept = true
			if fields["input"], err = e.encodeInput(req.Messages); err != nil {
				return b.localError(err)
			}
		default:
			return err
		}
	}
	return err
}

// modelField is a field that a model does not take.
type modelField struct{ model, field string }

// refusedField returns the name of an optional field that the service refuses, and "" if err is
// another error. Services that have only a part of the API do not know these fields.
// OpenAI's models that do not reason refuse to include encrypted reasoning.
func refusedField(err error) string {
	var e *backends.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return ""
	}
	for _, name := range []string{"include", "store"} {
		if regexp.MustCompile(`(?i)['"\x60]`+name+`['"\x60[]`).MatchString(e.Message) && regexp.MustCompile(refused).MatchString(e.Message) {
			return name
		}
	}
	if regexp.MustCompile(`(?i)encrypted content is not supported`).MatchString(e.Message) {
		return "include"
	}
	return ""
}

// refused has the words for a field that a service does not know.
const refused = `(?i)unknown|unsupported|unrecognized|unexpected|not (yet |currently )?(supported|permitted|allowed)`

var foreignReasoning = regexp.MustCompile(`(?i)encrypted[ _]content.* could not be (verified|decrypted)|could not decrypt`)

// saysForeignReasoning reports whether err refuses reasoning that was encrypted for another
// account, as when a conversation goes on with another key. OpenAI and xAI do.
func saysForeignReasoning(err error) bool {
	var e *backends.Error
	return errors.As(err, &e) && e.Status == http.StatusBadRequest &&
		foreignReasoning.MatchString(e.Message)
}

func (b *Backend) attemptResponse(ctx context.Context, req *backends.Request, fields map[string]any, emit wire.Emit) error {
	body, err := wire.Object(fields)
	if err != nil {
		return b.service.LocalError(err)
	}
	answer := newItemsAnswer(req.Key, b.dialect, origin{b.service.Provider, req.Model})
	return wire.Attempt[itemEvent]{
		Headers: req.Params.Headers,
		Body:    body,
		Open: func(ctx context.Context) error {
			stream, err := b.client.CreateResponseStream(ctx, goopenai.CreateResponseRequest{Model: req.Model})
			if err != nil {
				return err
			}
			return stream.Close() // of an empty body: the answer is kept from the library
		},
		Answer:   answer,
		IsAnswer: isItems,
		Marked:   true,
		Abandon:  answer.abandon,
	}.Run(ctx, b.service, emit)
}

// isItems reports whether body is an event, or the whole response of a service that does not stream.
func isItems(body []byte) bool {
	var whole struct {
		Type   string            `json:"type"`
		Output []json.RawMessage `json:"output"`
	}
	return json.Unmarshal(body, &whole) == nil && (whole.Output != nil || whole.Type == "error" || strings.HasPrefix(whole.Type, "response."))
}

// failedResponse returns the error of a failed response: cause, as the service sent it.
func failedResponse(cause json.RawMessage) error {
	if len(cause) == 0 || string(cause) == "null" {
		cause = json.RawMessage(`"the service failed and does not say why"`)
	}
	return &wire.StreamError{Body: slices.Concat([]byte(`{"error":`), cause, []byte(`}`))}
}
