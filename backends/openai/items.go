package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/plain"
	"github.com/massgen/massgen/internal/wire"
)

// itemEvent is one event of a streamed response (OpenAI's "Streaming events"), or the
// whole response of a service that does not stream.
type itemEvent struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        rawText         `json:"delta"`
	Item         json.RawMessage `json:"item"`
	Response     response        `json:"response"`
	response
	failure
}

// failure is what an event says that is an error.
type failure struct {
	Code    json.RawMessage `json:"code,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
}

// response is what counts of a response object.
type response struct {
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      json.RawMessage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// item is what counts of an output item.
type item struct {
	Type      string    `json:"type"`
	CallID    string    `json:"call_id"`
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
	Encrypted string    `json:"encrypted_content"`
	Content   []struct {
		Text    rawText `json:"text"`
		Refusal rawText `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text rawText `json:"text"`
	} `json:"summary"`
}

type itemUsage struct {
	InputTokens  wire.Count `json:"input_tokens"`
	OutputTokens wire.Count `json:"output_tokens"` // with those of reasoning
	InputDetails struct {
		CachedTokens wire.Count `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

// Usage returns the counts in the words of package backends.
func (u itemUsage) Usage() backends.Usage {
	return backends.Usage{
		InputTokens: int(u.InputTokens), OutputTokens: int(u.OutputTokens),
		CachedInputTokens: int(u.InputDetails.CachedTokens),
	}
}

// openItem is an output item, of which more may come until it is done.
type openItem struct {
	item

	arguments argumentsText
	streamed  bool // its text was yielded in pieces
	summaries int  // the number of its last summary
	done      bool
}

// itemsAnswer puts the events of one response together.
type itemsAnswer struct {
	key     backends.Key
	from    origin
	items   map[int]*openItem // by output index
	callIDs map[string]bool   // of the calls that were yielded
	// begunCalls counts the calls that began, also those that are open.
	begunCalls    int
	text, thought charJoiner
	refusal       strings.Builder
	usage         wire.UsageKeeper
	reason        string
	hasText       bool
	begun         bool
}

// Progress says how far the answer has come.
func (a *itemsAnswer) Progress() wire.Progress {
	finished := a.reason != ""
	return wire.Progress{Begun: a.begun, Finished: finished, Whole: finished}
}

// Add takes an event and returns the events that need not wait.
func (a *itemsAnswer) Add(ev itemEvent) ([]backends.Event, error) {
	switch ev.Type {
	case "response.output_item.added":
		_, err := a.open(ev.OutputIndex, ev.Item)
		return nil, err
	case "response.output_item.done":
		return a.finishItem(ev.OutputIndex, ev.Item)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return a.finish(ev.Response, strings.TrimPrefix(ev.Type, "response."))
	case "error":
		cause, err := plain.JSON(ev.failure)
		if err != nil {
			return nil, err
		}
		return nil, failedResponse(cause)
	case "":
		if ev.Output != nil {
			return a.finish(ev.response, ev.Status)
		}
		return nil, nil
	}
	return a.delta(ev), nil
}

// delta takes a piece of an item.
func (a *itemsAnswer) delta(ev itemEvent) []backends.Event {
	at := a.at(ev.OutputIndex)
	piece := string(ev.Delta)
	a.begun = a.begun || piece != ""
	switch ev.Type {
	case "response.output_text.delta":
		at.streamed, a.hasText = true, a.hasText || piece != ""
		return wire.TextEvents("", a.text.join(piece))
	case "response.refusal.delta":
		at.streamed = true
		a.refusal.WriteString(piece)
	case "response.reasoning_summary_text.delta":
		if at.streamed && ev.SummaryIndex != at.summaries {
			piece = "\n\n" + piece
		}
		at.streamed, at.summaries = true, ev.SummaryIndex
		return wire.TextEvents(a.thought.join(piece), "")
	case "response.reasoning_text.delta":
		at.streamed = true
		return wire.TextEvents(a.thought.join(piece), "")
	case "response.function_call_arguments.delta":
		at.arguments.write(piece)
	}
	return nil
}

// at returns the item of an index, which need not have begun.
func (a *itemsAnswer) at(index int) *openItem {
	if a.items[index] == nil {
		a.items[index] = &openItem{}
	}
	return a.items[index]
}

// open begins an item, or reads what it says at its end. It fails if that is a call too many.
func (a *itemsAnswer) open(index int, raw json.RawMessage) (*openItem, error) {
	a.begun = true
	at := a.at(index)
	wasCall := at.Type == "function_call"
	if err := json.Unmarshal(raw, &at.item); err != nil {
		return at, nil //nolint:nilerr // what is no item says nothing
	}
	if at.Type == "function_call" && !wasCall {
		if a.begunCalls == wire.MaxCalls {
			return at, wire.ErrTooManyCalls
		}
		a.begunCalls++
	}
	return at, nil
}

// finishItem closes an item, and returns what can only be told whole.
func (a *itemsAnswer) finishItem(index int, raw json.RawMessage) ([]backends.Event, error) {
	if at := a.items[index]; at != nil && at.done {
		return nil, nil
	}
	at, err := a.open(index, raw)
	if err != nil {
		return nil, err
	}
	at.done = true
	switch at.Type {
	case "":
		return nil, nil
	case "message":
		return a.rest(at), nil
	case "function_call":
		return append(a.held(), a.call(at)), nil
	}
	events := a.rest(at)
	if at.Type == "reasoning" && at.Encrypted == "" {
		return events, nil // the service has not stored it, so that it could not find it
	}
	return append(events, backends.Opaque{Provider: a.from.provider, Model: a.from.model, Data: slices.Clone(raw)}), nil
}

// rest returns the texts of an item whose pieces did not come, and what was held back.
func (a *itemsAnswer) rest(at *openItem) []backends.Event {
	if at.streamed {
		return a.held()
	}
	var thoughts []string
	for _, s := range at.Summary {
		thoughts = append(thoughts, string(s.Text))
	}
	text := ""
	for _, c := range at.Content {
		text += string(c.Text)
		a.refusal.WriteString(string(c.Refusal))
	}
	if at.Type != "message" { // the content of reasoning is reasoning
		thoughts, text = append(thoughts, text), ""
	}
	a.hasText = a.hasText || text != ""
	thought := joinHalves(strings.TrimSpace(strings.Join(thoughts, "\n\n")))
	return append(a.held(), wire.TextEvents(thought, joinHalves(text))...)
}

// held returns the halves of characters that were held back.
func (a *itemsAnswer) held() []backends.Event { return wire.TextEvents(a.thought.end(), a.text.end()) }

// call is the tool call of an item, with an id that no other has.
func (a *itemsAnswer) call(at *openItem) backends.ToolCall {
	said := string(at.Arguments)
	if said == "" {
		said = at.arguments.text.String()
	}
	said = strings.ToValidUTF8(joinHalves(said), "\uFFFD")
	call := backends.ToolCall{ID: at.CallID, Name: at.Name, Arguments: wire.TidyArguments(said)}
	if call.ID == "" || a.callIDs[call.ID] {
		call.ID = wire.CallID(a.key, len(a.callIDs))
	}
	if a.callIDs == nil {
		a.callIDs = map[string]bool{}
	}
	a.callIDs[call.ID] = true
	return call
}

// finish takes the response at its end, with the items that were not told before.
func (a *itemsAnswer) finish(r response, status string) ([]backends.Event, error) {
	a.usage.Add(r.Usage, &itemUsage{})
	switch status {
	case "failed", "cancelled":
		return nil, failedResponse(r.Error)
	case "incomplete":
		a.reason = "incomplete"
		if r.Incomplete.Reason != "" {
			a.reason = r.Incomplete.Reason
		}
	case "":
		a.reason = "completed"
	default:
		a.reason = status
	}
	var events []backends.Event
	for i, raw := range r.Output {
		more, err := a.finishItem(i, raw)
		events = append(events, more...)
		if err != nil {
			return events, err
		}
	}
	return events, nil
}

// End returns the last events of a response that ended well. One that the provider or the
// model withheld is an error.
func (a *itemsAnswer) End() ([]backends.Event, error) {
	events := append(a.held(), a.usage.Events()...)
	switch {
	case a.reason == "content_filter":
		return events, &wire.Refusal{Message: "the provider's content filter stopped the answer"}
	case a.refusal.Len() > 0 && !a.hasText && len(a.callIDs) == 0:
		return events, &wire.Refusal{Message: joinHalves(a.refusal.String())}
	case a.reason == "max_output_tokens":
		a.reason = "length" // the word of chat completions, by which a cut answer is known
	}
	return append(events, backends.Finish{Reason: a.reason}), nil
}

// abandon returns the usage, if the service sent it, and the partly received calls.
func (a *itemsAnswer) abandon() ([]backends.Event, []backends.ToolCall) {
	var calls []backends.ToolCall
	for _, index := range slices.Sorted(maps.Keys(a.items)) {
		if at := a.items[index]; at.Type == "function_call" && !at.done {
			calls = append(calls, a.call(at))
		}
	}
	return a.usage.Events(), calls
}
