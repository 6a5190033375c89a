// Package logs makes the log of a program, and has the names of the attributes of its lines.
package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// The names of attributes.
const (
	// Session and Turn name a turn, Agent the agent, and Call a call of it.
	Session = "session"
	Turn    = "turn"
	Agent   = "agent"
	Call    = "call"
	// Model is the panel or agent that a client names, Called a call's model, as its Provider names it.
	Model    = "model"
	Called   = "called"
	Provider = "provider"
	// Status is the status of a turn or of a call, CostUSD the cost, and Took the duration. JSON has durations in seconds.
	Status  = "status"
	CostUSD = "cost_usd"
	Calls   = "calls"
	Took    = "took"
	// Error is why something failed.
	Error = "error"
	// Limit is the limit that holds something up: budget, rate or turns.
	Limit = "limit"
	// Reason is how a workflow ended.
	Reason = "reason"
	// Part is what a turn needs: database, temporal, disk or worker. Away is how long it was away.
	Part = "part"
	Away = "away"
)

// The formats of a log.
const (
	Text = "text"
	JSON = "json"
)

// New returns a log in a format, "" for Text, from a level on. redact masks secrets in all texts. The
// error is for another format; it names no flag.
func New(w io.Writer, format string, level slog.Leveler, redact func(string) string) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler
	switch format {
	case "", Text:
		h = slog.NewTextHandler(w, o)
	case JSON:
		o.ReplaceAttr = inSeconds
		h = slog.NewJSONHandler(w, o)
	default:
		return nil, fmt.Errorf("%q is neither text nor json", plain.Cut(plain.Line(format), 40))
	}
	return slog.New(masked{h, redact}), nil
}

// inSeconds returns a duration as a number of seconds: slog's JSON has nanoseconds, which look like any other number.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}

// masked is a handler that masks secrets, whatever a caller passes.
type masked struct {
	slog.Handler
	redact func(string) string
}

// Handle implements slog.Handler.
func (m masked) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, m.redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(m.mask(a))
		return true
	})
	return m.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (m masked) WithAttrs(attrs []slog.Attr) slog.Handler {
	list := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		list[i] = m.mask(a)
	}
	return masked{m.Handler.WithAttrs(list), m.redact}
}

// WithGroup implements slog.Handler.
func (m masked) WithGroup(name string) slog.Handler {
	return masked{m.Handler.WithGroup(name), m.redact}
}

func (m masked) mask(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, m.redact(v.String()))
	case slog.KindGroup:
		list := make([]slog.Attr, len(v.Group()))
		for i, in := range v.Group() {
			list[i] = m.mask(in)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(list...)}
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.String(a.Key, m.redact(err.Error()))
		}
		if v.Any() == nil {
			return slog.Attr{}
		}
		return slog.String(a.Key, m.redact(fmt.Sprint(v.Any())))
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// Level reads a level: debug, info, warn or error.
func Level(text string) (level slog.Level, err error) {
	if level.UnmarshalText([]byte(strings.TrimSpace(text))) != nil {
		return 0, fmt.Errorf("%q is not debug, info, warn or error", plain.Cut(plain.Line(text), 40))
	}
	return level, nil
}
