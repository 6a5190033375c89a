package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// responder writes responses, with the secrets masked.
type responder struct {
	redact func(text string) string
	log    *slog.Logger
	// metrics count the requests that fail for a while; nil counts none.
	metrics *metrics.Registry
	// noReasoning leaves out what the agents say to each other before the answer.
	noReasoning bool
}

// refusal is an error response, in the form of OpenAI's API.
type refusal struct {
	status  int
	message string
	param   string // the key of the request that is wrong, "" for none
	code    string
	// retryAfter is the time until another try makes sense; 0: unknown.
	retryAfter time.Duration
	// isPaid reports that models were called, so an automatic retry costs again.
	isPaid bool
}

// Error implements error.
func (r refusal) Error() string { return r.message }

// badRequest returns the refusal of the value under a key of the request.
func badRequest(param, message string) refusal {
	return refusal{status: http.StatusBadRequest, param: param, code: "invalid_value", message: message}
}

// clientGone is the status in logs for a request whose client did not wait.
const clientGone = 499

// refusalOf returns the refusal for an error. It reveals nothing of this machine: errors that the
// client did not cause go to the log.
func (o responder) refusalOf(err error) refusal {
	var known refusal
	var changed *coordinator.Difference
	var other *coordinator.OtherPanelError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled): // nobody reads this
		return refusal{status: clientGone, code: "client_closed_request", message: "the client has closed the request"}
	case errors.Is(err, sessions.ErrBusy):
		return refusal{status: http.StatusConflict, code: "session_busy", message: sessions.ErrBusy.Error()}
	case errors.Is(err, sessions.ErrExists):
		return refusal{status: http.StatusConflict, code: "session_exists", message: "there is a session with this id already"}
	case errors.Is(err, driver.ErrOver):
		return overRefusal()
	case errors.Is(err, coordinator.ErrLeft):
		return refusal{status: http.StatusServiceUnavailable, code: "interrupted", message: "the server ends, and the turn goes on when it is asked for again", retryAfter: retryLater}
	case errors.As(err, &other):
		return refusal{status: http.StatusConflict, code: "other_panel", message: "the turn was interrupted, and this model cannot go on with it: " + other.Why}
	case errors.As(err, &changed):
		return refusal{status: http.StatusConflict, code: "turn_changed", message: "the turn was interrupted, and what its models are sent has changed since: ask again"}
	case errors.Is(err, sessions.ErrNoSession):
		return refusal{status: http.StatusNotFound, code: "session_not_found", message: "there is no such session"}
	}
	o.log.Error("a request failed", "error", err)
	switch {
	case errors.Is(err, coordinator.ErrNoWorker):
		return refusal{status: http.StatusServiceUnavailable, code: codeNoWorker, message: "no worker plays turns of this model now: try again later", retryAfter: retryLater}
	case sessions.IsAway(err):
		return refusal{status: http.StatusServiceUnavailable, code: codeUnavailable, message: "the server cannot use its database or Temporal now: try again later", retryAfter: retryLater}
	}
	return refusal{status: http.StatusInternalServerError, code: "internal_error", message: "the server could not do this: its log says why"}
}

// The codes of refusals for something that is away: an operator finds the reason in the log.
const (
	codeUnavailable = "unavailable"
	codeNoWorker    = "no_worker"
)

// countAway counts the refusal of a request if something is away.
func (o responder) countAway(r refusal) {
	if o.metrics != nil && (r.code == codeUnavailable || r.code == codeNoWorker) {
		tally{o.metrics}.refused(r)
	}
}

// overRefusal returns the refusal of results that come after the end of their turn.
func overRefusal() refusal {
	return refusal{status: http.StatusConflict, code: "turn_over", message: "the turn that these calls belong to is over: ask again"}
}

// errorJSON is an error in the form of OpenAI's API.
type errorJSON struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (r refusal) json() map[string]errorJSON {
	e := errorJSON{Message: r.message, Type: "invalid_request_error"}
	switch {
	case r.status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case r.status >= http.StatusInternalServerError:
		e.Type = "server_error"
	}
	if r.param != "" {
		e.Param = &r.param
	}
	if r.code != "" {
		e.Code = &r.code
	}
	return map[string]errorJSON{"error": e}
}

// answer returns a handler that calls f and refuses the request with its error.
func (o responder) answer(f func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			o.refuse(w, err)
		}
	}
}

// warn logs what could not be read of a session. The client gets the rest.
func (o responder) warn(text string) { o.log.Warn(text) }

// refuse answers a request with an error.
func (o responder) refuse(w http.ResponseWriter, err error) {
	r := o.refusalOf(err)
	o.countAway(r)
	if r.retryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprintf("%.0f", math.Ceil(r.retryAfter.Seconds())))
	}
	if r.isPaid {
		w.Header().Set("X-Should-Retry", "false") // OpenAI's clients go by it
	}
	_ = o.write(w, r.status, r.json()) // JSON can hold every refusal
}

// write answers a request with JSON. It returns an error for a value that JSON cannot hold.
func (o responder) write(w http.ResponseWriter, status int, v any) error {
	line, err := plain.JSONLine(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	o.writeBytes(w, []byte(o.redact(line)+"\n"))
	return nil
}

func (o responder) writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	o.writeBytes(w, []byte(text))
}

// writeBytes writes to a client, who may be gone.
func (o responder) writeBytes(w http.ResponseWriter, data []byte) {
	if _, err := w.Write(data); err != nil {
		o.log.Debug("a client is gone", "error", err)
	}
}

// readBody decodes the body of a request.
func readBody(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	err := decodes(r, func() error { return d.Decode(into) })
	hasMore := err == nil && d.More()
	_ = r.Body.Close() // its bytes are of no more use
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		field := shortened(mistyped.Field)
		return badRequest(field, cmp.Or(field, "the request")+" must be "+wantedJSON(mistyped.Type)+": it is "+foundJSON(mistyped.Value))
	case err != nil:
		return badRequest("", "the request is not JSON: "+shortened(strings.TrimPrefix(err.Error(), "json: ")))
	case hasMore:
		return badRequest("", "something follows the request's JSON object")
	}
	return nil
}

// wantedJSON names the JSON value that a type is read from.
func wantedJSON(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number"
}

// foundJSON describes a value by the words of json.UnmarshalTypeError, such as "array" and "number 1.5".
func foundJSON(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "array", "object":
		return "an " + value
	}
	if number, isNumber := strings.CutPrefix(value, "number "); isNumber {
		return shortened(number)
	}
	return "a " + shortened(value)
}

// shortened is the beginning of a text, on one line.
func shortened(text string) string { return plain.Cut(plain.Line(text), 80) }
