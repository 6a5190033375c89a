package openai

import (
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// callFragment is a piece of a tool call.
type callFragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
		extras
	} `json:"function"`
	extras
}

// arguments is a piece of the arguments' text, or the whole of what a service
// sent as an object instead.
type arguments string

// UnmarshalJSON reads both forms; null is no text.
func (a *arguments) UnmarshalJSON(data []byte) error {
	if (*rawText)(a).UnmarshalJSON(data) != nil {
		*a = arguments(data)
	}
	return nil
}

// openCall is a call that may get more fragments.
type openCall struct {
	choice    int
	index     int // among the calls of all choices
	id        string
	name      string
	arguments argumentsText
	kept      keptCall
}

func (c *openCall) saysNothing() bool {
	return c.id == "" && c.name == "" && c.arguments.text.Len() == 0
}

// callMerger puts the fragments of tool calls together. By the protocol a call
// has one index, and its id and name come with its first fragment. Services
// differ: some repeat the id or make up a new one for each fragment, number all
// calls 0, send no index, or send one call under several.
type callMerger struct {
	key     backends.Key
	calls   []*openCall
	byIndex map[callPlace]*openCall
	// kept has the fields that go back with the merged calls, by their ids.
	kept map[string]keptCall
}

// callPlace is where the fragments of a call stand: the index of their choice, and the index there.
type callPlace struct{ choice, index int }

// add takes the next fragment of a choice, and returns its event. It fails if that begins a call too many.
func (m *callMerger) add(choice int, f callFragment) ([]backends.Event, error) {
	call := m.find(choice, f)
	if call == nil {
		if len(m.calls) == wire.MaxCalls {
			return nil, wire.ErrTooManyCalls
		}
		call = &openCall{choice: choice, index: len(m.calls)}
		m.calls = append(m.calls, call)
	}
	if m.byIndex == nil {
		m.byIndex = map[callPlace]*openCall{}
	}
	if f.Index != nil {
		m.byIndex[callPlace{choice, *f.Index}] = call
	}
	if call.id == "" {
		call.id = f.ID
	}
	if call.name == "" {
		call.name = f.Function.Name
	}
	call.arguments.write(string(f.Function.Arguments))
	call.kept.add(keptCall{f.extras, f.Function.extras})
	return call.arguments.piece(call.index, call.name), nil
}

// find returns the call of a choice that f goes on with, or nil if f begins one.
func (m *callMerger) find(choice int, f callFragment) *openCall {
	if f.Index != nil {
		if call := m.byIndex[callPlace{choice, *f.Index}]; call != nil {
			return continued(call, f)
		}
	}
	var last *openCall
	for _, call := range m.calls {
		if call.choice != choice {
			continue
		}
		if f.ID != "" && call.id == f.ID {
			return continued(call, f)
		}
		last = call
	}
	switch {
	case last == nil:
		return nil
	case f.Index == nil && (f.ID == "" || f.Function.Name == ""):
		return continued(last, f)
	case f.Index != nil && f.Function.Name == "" && f.ID == "":
		return last
	}
	return nil
}

// continued returns call if f can be more of it, else nil: a fragment with a name
// begins a new call if the call before has another name, or is complete. An end that
// only repeats the name does not begin a call.
func continued(call *openCall, f callFragment) *openCall {
	switch name := f.Function.Name; {
	case name == "" || call.name == "":
		return call
	case name != call.name:
		return nil
	case !call.arguments.complete(), f.ID == "" && f.Function.Arguments == "":
		return call
	}
	return nil
}

// merged returns the calls in the order in which they began, each with an id of its
// own. It drops empty calls, and repetitions: calls with the id and name of an earlier
// one, and with its arguments or without any.
func (m *callMerger) merged() []backends.ToolCall {
	var out []backends.ToolCall
	ids := map[string]bool{}
	m.kept = map[string]keptCall{}
	for _, open := range m.calls {
		if open.saysNothing() {
			continue
		}
		arguments := strings.ToValidUTF8(joinHalves(open.arguments.text.String()), "\uFFFD")
		call := backends.ToolCall{ID: open.id, Name: open.name, Arguments: wire.TidyArguments(arguments)}
		said := func(b backends.ToolCall) bool {
			return b.ID == call.ID && b.Name == call.Name && (open.arguments.text.Len() == 0 || b.Arguments == call.Arguments)
		}
		if call.ID != "" && slices.ContainsFunc(out, said) {
			m.keep(call.ID, open.kept)
			continue
		}
		if call.ID == "" || ids[call.ID] {
			call.ID = wire.CallID(m.key, len(out))
		}
		ids[call.ID] = true
		m.keep(call.ID, open.kept)
		out = append(out, call)
	}
	return out
}

// keep keeps the fields that go back with a call.
func (m *callMerger) keep(id string, fields keptCall) {
	kept := m.kept[id]
	if kept.add(fields); !kept.isEmpty() {
		m.kept[id] = kept
	}
}
