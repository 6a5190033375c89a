package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/system/plain"
)

// answer puts the events of one stream together ("Streaming messages" in the docs
// of the API): message_start, for each content block a start, deltas and a stop,
// then message_delta with the stop reason, then message_stop. Pings and unknown
// events may come at any time.
type answer struct {
	key             backends.Key
	provider, model string

	open  map[int64]*block
	calls map[string]bool // the ids of the tool calls until now
	// begunCalls counts the tool calls that began, also those that are open.
	begunCalls int
	usage      usage
	pages      pages // that were fetched until now
	// container is the id of the machine that runs code.
	container string
	reason    sdk.StopReason
	details   sdk.RefusalStopDetails
	size      int  // see wire.Progress
	begun     bool // whether any part of a message came, readable or not
	stopped   bool // whether message_stop came
}

// Progress returns how far the answer has come.
func (a *answer) Progress() wire.Progress {
	finished := a.reason != ""
	return wire.Progress{Begun: a.begun, Finished: finished, Whole: finished, Ended: a.stopped, Size: a.size}
}

// Add takes an event of the stream and returns the events that need not wait. It
// fails if that begins a tool call too many.
func (a *answer) Add(ev sdk.MessageStreamEventUnion) ([]backends.Event, error) {
	switch ev.Type {
	case "message_start":
		a.usage.add(ev.Message.Usage.RawJSON())
		a.noteContainer(ev.Message.Container.RawJSON())
	case "content_block_start":
		a.begun = true
		return a.start(ev.Index, ev.ContentBlock)
	case "content_block_delta":
		a.begun = true
		return a.delta(ev.Index, ev.Delta), nil
	case "content_block_stop":
		return a.stop(ev.Index), nil
	case "message_delta":
		a.usage.add(ev.Usage.RawJSON())
		if ev.Delta.StopReason != "" {
			a.reason, a.details = ev.Delta.StopReason, ev.Delta.StopDetails
		}
		a.noteContainer(ev.Delta.Container.RawJSON())
	case "message_stop":
		a.stopped = true
	case "message":
		return a.whole(ev.RawJSON())
	}
	return nil, nil
}

// isAnswer reports whether body is an event, or the whole message of a service that does not stream.
func isAnswer(body []byte) bool {
	var event struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(body, &event) != nil {
		return false
	}
	for _, begin := range []string{"message", "content_block", "ping"} {
		if strings.HasPrefix(event.Type, begin) {
			return true
		}
	}
	return false
}

// whole takes the message of a service that does not stream.
func (a *answer) whole(raw string) ([]backends.Event, error) {
	var message struct {
		Content     []sdk.ContentBlockStartEventContentBlockUnion `json:"content"`
		StopReason  sdk.StopReason                                `json:"stop_reason"`
		StopDetails sdk.RefusalStopDetails                        `json:"stop_details"`
		Usage       json.RawMessage                               `json:"usage"`
		Container   json.RawMessage                               `json:"container"`
	}
	if err := json.Unmarshal([]byte(raw), &message); err != nil {
		return nil, fmt.Errorf("the message cannot be read: %w", err)
	}
	var events []backends.Event
	for i, block := range message.Content {
		a.begun = true
		begun, err := a.start(int64(i), block)
		if events = append(events, begun...); err != nil {
			return events, err
		}
		events = append(events, a.stop(int64(i))...)
	}
	a.usage.add(string(message.Usage))
	a.reason, a.details, a.stopped = message.StopReason, message.StopDetails, true
	a.noteContainer(string(message.Container))
	return events, nil
}

// End returns the events of a stream that ended well: what blocks nobody closed,
// usage and finish. An answer that was withheld is an error instead of a finish.
func (a *answer) End() ([]backends.Event, error) {
	var events []backends.Event
	if a.reason != sdk.StopReasonRefusal {
		for _, index := range slices.Sorted(maps.Keys(a.open)) {
			events = append(events, a.stop(index)...)
		}
	}
	if a.reason == sdk.StopReasonPauseTurn && a.container != "" {
		part, err := plain.JSON(container{containerPart, a.container})
		if err != nil {
			return nil, err
		}
		events = append(events, backends.Opaque{Provider: a.provider, Model: a.model, Data: part})
	}
	events = append(events, a.usage.events()...)
	if a.reason == sdk.StopReasonRefusal {
		return events, &wire.Refusal{Message: refusalMessage(a.details)}
	}
	if err := wire.CheckEnding(string(a.reason), ""); err != nil {
		return events, err
	}
	return append(events, backends.Finish{Reason: string(a.reason)}), nil
}

func refusalMessage(d sdk.RefusalStopDetails) string {
	message := "the model refused to answer"
	if d.Category != "" {
		message += fmt.Sprintf(" (%s)", d.Category)
	}
	if d.Explanation != "" {
		message += ": " + d.Explanation
	}
	return message
}

// block is a content block that may grow.
type block struct {
	call      int // the number of a tool call among the calls, from 0
	start     sdk.ContentBlockStartEventContentBlockUnion
	thinking  strings.Builder
	signature strings.Builder
	input     strings.Builder
}

// start opens a block, and closes one at the same index that nobody closed.
func (a *answer) start(index int64, b sdk.ContentBlockStartEventContentBlockUnion) ([]backends.Event, error) {
	if a.open == nil {
		a.open = map[int64]*block{}
	}
	before := a.stop(index)
	opened := &block{start: b}
	a.open[index] = opened
	switch b.Type {
	case "text":
		return append(before, wire.TextEvents("", b.Text)...), nil
	case "thinking":
		opened.thinking.WriteString(b.Thinking)
		opened.signature.WriteString(b.Signature)
		return append(before, wire.TextEvents(b.Thinking, "")...), nil
	case "tool_use":
		if a.begunCalls == wire.MaxCalls {
			return before, wire.ErrTooManyCalls
		}
		opened.call = a.begunCalls
		a.begunCalls++
	}
	return before, nil
}

// delta adds to a block. The deltas of blocks that never began still have a text.
func (a *answer) delta(index int64, d sdk.MessageStreamEventUnionDelta) []backends.Event {
	opened := a.open[index]
	if opened == nil {
		opened = &block{}
	}
	a.size += len(d.Text) + len(d.Thinking) + len(d.Signature) + len(d.PartialJSON)
	switch d.Type {
	case "text_delta":
		return wire.TextEvents("", d.Text)
	case "thinking_delta":
		opened.thinking.WriteString(d.Thinking)
		return wire.TextEvents(d.Thinking, "")
	case "citations_delta":
		return a.citation(d.Citation)
	case "signature_delta":
		opened.signature.WriteString(d.Signature)
	case "input_json_delta":
		opened.input.WriteString(d.PartialJSON)
		if opened.start.Type == "tool_use" && d.PartialJSON != "" {
			return []backends.Event{backends.ToolCallDelta{Index: opened.call, Name: opened.start.Name, Text: strings.ToValidUTF8(d.PartialJSON, "\uFFFD")}}
		}
	}
	return nil
}

// stop closes a block, and returns what can only be told whole.
func (a *answer) stop(index int64) []backends.Event {
	closed := a.open[index]
	if closed == nil {
		return nil
	}
	delete(a.open, index)
	switch {
	case closed.start.Type == "text", closed.isEmptyThought():
		return nil
	case closed.start.Type == "tool_use":
		return []backends.Event{a.call(closed)}
	}
	if call, ok := closed.hostedCall(); ok {
		a.noteHosted(call, closed)
		return append(a.opaque(closed), call)
	}
	return a.opaque(closed)
}

// abandon returns the tool calls that have begun and not ended. The usage of an answer
// that failed is unknown: its output is counted at the end.
func (a *answer) abandon() ([]backends.Event, []backends.ToolCall) {
	var calls []backends.ToolCall
	for _, index := range slices.Sorted(maps.Keys(a.open)) {
		if b := a.open[index]; b.start.Type == "tool_use" {
			calls = append(calls, a.call(b))
		}
	}
	return nil, calls
}

// call is the tool call of a block. Its id is unique in the answer.
func (a *answer) call(b *block) backends.ToolCall {
	call := backends.ToolCall{ID: b.start.ID, Name: b.start.Name, Arguments: wire.TidyArguments(b.arguments())}
	if call.ID == "" || a.calls[call.ID] {
		call.ID = wire.CallID(a.key, len(a.calls))
	}
	if a.calls == nil {
		a.calls = map[string]bool{}
	}
	a.calls[call.ID] = true
	return call
}

// arguments is what came in pieces, or else what stood in the block from the start.
func (b *block) arguments() string {
	if b.input.Len() > 0 {
		return strings.ToValidUTF8(b.input.String(), "\uFFFD")
	}
	return b.start.JSON.Input.Raw()
}

func (b *block) isEmptyThought() bool {
	return b.start.Type == "thinking" && b.thinking.Len() == 0 && b.signature.Len() == 0
}

// opaque keeps a block that only its maker understands whole: signed thinking, a
// tool call that ran at the provider. One that is no JSON object, which can come
// only of a broken stream, cannot go back and is left out.
func (a *answer) opaque(b *block) []backends.Event {
	fields := map[string]any{}
	if b.thinking.Len() > 0 {
		fields["thinking"] = b.thinking.String()
	}
	if b.signature.Len() > 0 {
		fields["signature"] = b.signature.String()
	}
	if b.input.Len() > 0 {
		fields["input"] = json.RawMessage(b.arguments())
	}
	data, err := wire.Merge([]byte(b.start.RawJSON()), fields)
	if err != nil {
		return nil
	}
	return []backends.Event{backends.Opaque{Provider: a.provider, Model: a.model, Data: data}}
}
