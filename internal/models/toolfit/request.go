package toolfit

import (
	"encoding/json"
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// Request returns a request in the form that a service takes, and emit with the calls of its answer in
// their own form. It leaves out a tool that cannot be made to fit; the program warns of that when it
// lists the tools.
func (r Rules) Request(req backends.Request, emit func(...backends.Event) error) (backends.Request, func(...backends.Event) error) {
	var tools []backends.Tool
	fitted := map[string]names{}
	for _, t := range req.Tools {
		if isCoordination(t.Name) {
			tools = append(tools, t)
			continue
		}
		if len(t.Schema) > 0 && !json.Valid(t.Schema) {
			tools = append(tools, t) // a fault of the program: the adapter reports it
			continue
		}
		f, err := r.Fit(t)
		if err != nil {
			continue
		}
		tools = append(tools, f.Tool)
		if len(f.names.sent) > 0 {
			fitted[t.Name] = f.names
		}
	}
	req.Tools = tools
	if len(fitted) == 0 {
		return req, emit
	}
	req.Messages = sentCalls(req.Messages, fitted)
	return req, func(events ...backends.Event) error {
		out := slices.Clone(events)
		for i, ev := range out {
			if call, ok := ev.(backends.ToolCall); ok {
				call.Arguments = renamed(call.Arguments, fitted[call.Name].own)
				out[i] = call
			}
		}
		return emit(out...)
	}
}

// isCoordination reports whether a tool belongs to the coordination. No other tool may have its name.
func isCoordination(name string) bool { return name == effect.NewAnswer || name == effect.Vote }

// sentCalls returns messages in which the calls have the names that the service is sent.
func sentCalls(messages []backends.Message, fitted map[string]names) []backends.Message {
	out := slices.Clone(messages)
	for i, m := range out {
		if !slices.ContainsFunc(m.ToolCalls(), func(c backends.ToolCall) bool { return len(fitted[c.Name].sent) > 0 }) {
			continue
		}
		parts := slices.Clone(m.Parts)
		for j, p := range parts {
			if call, ok := p.(backends.ToolCall); ok {
				call.Arguments = renamed(call.Arguments, fitted[call.Name].sent)
				parts[j] = call
			}
		}
		out[i].Parts = parts
	}
	return out
}
