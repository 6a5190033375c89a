package toolfit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/plain"
)

// Request returns a request in the form that a service takes, and emit with the calls of its answer in
// their own form. It leaves out a tool that cannot be made to fit, and the last tools where there are too
// many. The program warns of that when it lists the tools, and refuses such tools of a client.
func (r Rules) Request(req backends.Request, emit func(...backends.Event) error) (backends.Request, func(...backends.Event) error) {
	var tools []backends.Tool
	fitted := map[string]names{}
	own, room := 0, r.room(countCoordination(req.Tools), req.Params.Hosted)
	for _, t := range req.Tools {
		if isCoordination(t.Name) {
			if hasAnswerSchema(t) {
				if f, err := r.Fit(t); err == nil {
					t, fitted[t.Name] = f.Tool, f.names
				}
			}
			tools = append(tools, t)
			continue
		}
		if len(t.Schema) > 0 && !json.Valid(t.Schema) {
			tools = append(tools, t) // a fault of the program: the adapter reports it
			continue
		}
		f, err := r.Fit(t)
		if err != nil || own == room {
			continue
		}
		own++
		tools = append(tools, f.Tool)
		fitted[t.Name] = f.names
	}
	req.Tools = tools
	if r.SimplePatterns && req.Lenient {
		req.Schema = r.reply(req.Schema)
	}
	maps.DeleteFunc(fitted, func(_ string, n names) bool { return len(n.sent) == 0 })
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

// hasAnswerSchema reports whether a tool of the coordination has the schema of the answer in it.
func hasAnswerSchema(t backends.Tool) bool {
	var s struct {
		Properties struct {
			Content struct {
				Type any `json:"type"`
			} `json:"content"`
		} `json:"properties"`
	}
	return json.Unmarshal(t.Schema, &s) == nil && s.Properties.Content.Type == "object"
}

// reply returns the schema of a reply that the program checks, in the form in which llama.cpp makes a
// grammar of it. A schema that has no such form stays as it is.
func (r Rules) reply(text json.RawMessage) json.RawMessage {
	before, err := decode(text)
	if err != nil {
		return text
	}
	root, _ := decode(text)
	grammar := Rules{PlainRefs: r.PlainRefs, NoBooleans: r.NoBooleans, SimplePatterns: true, Typed: r.Typed, MaxRepeat: r.MaxRepeat}
	f := fitter{Rules: grammar, root: before, mostRefs: mostDepth}
	fitted, err := f.fit(root, nil)
	if err != nil || reflect.DeepEqual(before, fitted) {
		return text
	}
	if out, err := plain.JSON(fitted); err == nil {
		return out
	}
	return text
}

// Most returns how many of a program's tools fit into each request of an agent, and why no more do; ok is
// false where the service has no limit. inPanel reports whether the coordination tools are sent, too.
func (r Rules) Most(inPanel bool, hosted backends.HostedTools) (most int, why error, ok bool) {
	if r.MaxTools == 0 {
		return 0, nil, false
	}
	coordination := 0
	if inPanel {
		coordination = 2
	}
	return r.room(coordination, hosted), fmt.Errorf("its service takes %d tools in one request", r.MaxTools), true
}

// room returns how many tools fit beside those of the coordination and the hosted tools; -1 for any number.
func (r Rules) room(coordination int, hosted backends.HostedTools) int {
	if r.MaxTools == 0 {
		return -1
	}
	for _, is := range []bool{hosted.WebSearch, hosted.WebFetch, hosted.Code()} {
		if is {
			coordination++
		}
	}
	return max(0, r.MaxTools-coordination)
}

func countCoordination(tools []backends.Tool) (n int) {
	for _, t := range tools {
		if isCoordination(t.Name) {
			n++
		}
	}
	return n
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
