package openai

import (
	"encoding/json"
	"slices"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/finish"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/system/plain"
)

// itemsAnswer puts the events of one response together.
type itemsAnswer struct {
	itemList

	key           backends.Key
	from          origin
	callIDs       map[string]bool // of the calls that were yielded
	text, thought charJoiner
	tags          tagSplitter
	refusal       strings.Builder
	usage         wire.UsageKeeper
	reason        string
	speaker       *openItem // whose text came last
	// progress has no Finished and no Whole: the reason tells these.
	progress wire.Progress
	builtIn  builtIn
	// loop is nil where an answer may repeat itself.
	loop *wire.Repetition
}

func newItemsAnswer(key backends.Key, d Dialect, from origin) *itemsAnswer {
	a := &itemsAnswer{key: key, from: from, callIDs: map[string]bool{}, itemList: itemList{
		byIndex: map[int]*openItem{}, byID: map[string]*openItem{}, told: map[string]bool{},
	}}
	if d.ThinkTags {
		a.tags.state = atStart
	}
	if d.EndsLoops {
		a.loop = &wire.Repetition{}
	}
	return a
}

// Progress returns how far the answer has come.
func (a *itemsAnswer) Progress() wire.Progress {
	now := a.progress
	now.Finished = a.reason != ""
	now.Whole = now.Finished
	return now
}

// Add takes an event and returns the events that need not wait.
func (a *itemsAnswer) Add(ev itemEvent) ([]backends.Event, error) {
	switch ev.Type {
	case goopenai.ResponseStreamEventOutputItemAdded:
		said := readItem(ev.Item)
		a.progress.Begun = a.progress.Begun || said.Type != ""
		_, err := a.open(ev.OutputIndex, said)
		return a.builtIn.begin(ev.OutputIndex, ev.Item), err
	case goopenai.ResponseStreamEventOutputTextAnnotationAdded:
		return annotations{ev.Annotation}.events(), nil
	case goopenai.ResponseStreamEventOutputItemDone:
		return a.finishItem(ev.OutputIndex, ev.Item)
	case goopenai.ResponseStreamEventFunctionArgumentsDone:
		if at := a.at(ev.OutputIndex, ev.ItemID); at.arguments.text.Len() == 0 {
			at.arguments.write(string(ev.Arguments))
			return at.arguments.piece(at.call, at.Name), nil
		}
		return nil, nil
	case goopenai.ResponseStreamEventCompleted, goopenai.ResponseStreamEventIncomplete,
		goopenai.ResponseStreamEventFailed, cancelledEvent:
		return a.finish(ev.Response, strings.TrimPrefix(string(ev.Type), "response."))
	case goopenai.ResponseStreamEventError:
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
	piece := string(ev.Delta)
	if piece == "" {
		return nil
	}
	a.progress.Begun = true
	a.progress.Size += len(piece)
	if a.loop.Add(piece) {
		a.progress.Ended, a.reason = true, finish.Repetition
	}
	at := a.at(ev.OutputIndex, ev.ItemID)
	switch ev.Type {
	case goopenai.ResponseStreamEventOutputTextDelta:
		return a.speak(at, piece)
	case goopenai.ResponseStreamEventRefusalDelta:
		at.said.WriteString(piece)
		a.refusal.WriteString(piece)
	case goopenai.ResponseStreamEventReasoningSummaryTextDelta:
		return a.think(at, ev.SummaryIndex, piece)
	case goopenai.ResponseStreamEventReasoningTextDelta:
		return a.think(at, ev.ContentIndex, piece)
	case goopenai.ResponseStreamEventFunctionArgumentsDelta:
		at.arguments.write(piece)
		return at.arguments.piece(at.call, at.Name)
	}
	return nil
}

// speak returns a piece of a message's text. A blank line parts two messages.
func (a *itemsAnswer) speak(at *openItem, piece string) []backends.Event {
	var events []backends.Event
	if a.speaker != at && a.speaker != nil {
		events, piece = a.held(), "\n\n"+piece
	}
	a.speaker = at
	at.said.WriteString(piece)
	return append(events, a.textEvents(a.text.join(piece))...)
}

// phase returns the part that keeps a message's phase, if it has one.
func (a *itemsAnswer) phase(at *openItem) []backends.Event {
	if at.Phase == "" || at.said.Len() == 0 {
		return nil
	}
	data, err := plain.JSON(messagePhase{messageItem, at.Phase})
	if err != nil {
		return nil // a text encodes
	}
	return []backends.Event{a.kept(data)}
}

// think returns a piece of reasoning. A blank line parts its parts.
func (a *itemsAnswer) think(at *openItem, part int, piece string) []backends.Event {
	if at.said.Len() > 0 && part != at.part {
		piece = "\n\n" + piece
	}
	at.part = part
	at.said.WriteString(piece)
	return wire.TextEvents(a.thought.join(piece), "")
}

// textEvents returns the events of a text, which may contain reasoning between tags.
func (a *itemsAnswer) textEvents(text string) []backends.Event {
	return wire.TextEvents(a.tags.split(text))
}

// finishItem closes an item, and returns the events that need the whole item. It ignores an item
// that it has closed before, at this index or another.
func (a *itemsAnswer) finishItem(index int, raw json.RawMessage) ([]backends.Event, error) {
	said := readItem(raw)
	if said.Type == "" || a.told[said.name(index)] {
		return nil, nil
	}
	a.progress.Begun = true
	at, err := a.open(index, said)
	if err != nil {
		return nil, err
	}
	at.done = true
	a.told[at.name(index)] = true
	switch {
	case at.Type == messageItem:
		return append(append(a.rest(at), a.phase(at)...), at.sources()...), nil
	case at.Type == callItem && at.Status == "incomplete":
		return a.held(), nil
	case at.Type == callItem:
		call := a.call(at)
		said.CallID, said.Name, said.Arguments = at.CallID, at.Name, arguments(at.saidArguments())
		a.told[said.name(index)] = true
		return append(a.held(), call), nil
	case at.Type == reasoningItem:
		return a.reasoning(at, raw), nil
	}
	return append(a.builtInTool(raw), a.builtIn.done(index, raw)...), nil
}

// reasoning returns the thoughts of an item that were not streamed, and the item itself, which
// goes back as it came. An item that has neither encrypted content nor a text is not kept: the
// service would look for it in its store, and stores nothing.
func (a *itemsAnswer) reasoning(at *openItem, raw json.RawMessage) []backends.Event {
	events := a.rest(at)
	if at.Encrypted == "" && at.text() == "" {
		return events
	}
	return append(events, a.kept(raw))
}

// builtInTool returns the part that keeps an item of one of the service's own tools, such as
// "web_search_call" and "code_interpreter_call". The item goes back as it came.
func (a *itemsAnswer) builtInTool(raw json.RawMessage) []backends.Event {
	return append(a.held(), a.kept(raw))
}

// kept returns the part that keeps an item, which only its own model reads.
func (a *itemsAnswer) kept(raw json.RawMessage) backends.Event {
	return backends.Opaque{Provider: a.from.provider, Model: a.from.model, Data: slices.Clone(raw)}
}

// rest returns what was held back, and the text of an item that was not streamed.
func (a *itemsAnswer) rest(at *openItem) []backends.Event {
	if at.said.Len() > 0 {
		return a.held()
	}
	events := a.held()
	if at.Type != messageItem { // the content of reasoning is reasoning
		thoughts := strings.TrimSpace(joinHalves(at.summary() + "\n\n" + at.text()))
		return append(events, wire.TextEvents(strings.ToValidUTF8(thoughts, "\uFFFD"), "")...)
	}
	a.refusal.WriteString(at.refusal())
	if text := at.text(); text != "" {
		events = append(append(events, a.speak(at, text)...), a.held()...)
	}
	return events
}

// held returns the halves of characters that were held back.
func (a *itemsAnswer) held() []backends.Event {
	events := wire.TextEvents(a.thought.end(), "")
	return append(events, a.textEvents(a.text.end())...)
}

// call is the tool call of an item, with an id that no other has.
func (a *itemsAnswer) call(at *openItem) backends.ToolCall {
	call := backends.ToolCall{ID: at.CallID, Name: at.Name, Arguments: wire.TidyArguments(strings.ToValidUTF8(at.saidArguments(), "\uFFFD"))}
	if call.ID == "" || a.callIDs[call.ID] {
		call.ID = wire.CallID(a.key, len(a.callIDs))
	}
	a.callIDs[call.ID] = true
	return call
}

// finish reads the whole response at its end, and returns the events of the items that did not
// come before.
func (a *itemsAnswer) finish(r response, status string) ([]backends.Event, error) {
	a.usage.Add(r.Usage, &itemUsage{})
	switch status {
	case "failed", "cancelled":
		return nil, failedResponse(r.Error)
	case "incomplete":
		a.reason = incomplete(r.Incomplete.Reason)
	case "":
		a.reason = "completed"
	default:
		a.reason = status
	}
	var events []backends.Event
	for i, raw := range r.Output {
		if at := a.byIndex[i]; at != nil && at.done && at.Type == readItem(raw).Type {
			continue // also where its id is another than before
		}
		more, err := a.finishItem(i, raw)
		events = append(events, more...)
		if err != nil {
			return events, err
		}
	}
	return events, nil
}

// incomplete returns the word for the end of a response that is not complete. Whatever the service
// says of the reason, the answer is not whole.
func incomplete(reason string) string {
	switch finish.Of(reason) {
	case finish.Whole, finish.Unknown:
		return strings.TrimSuffix("incomplete: "+reason, ": ")
	}
	return reason
}

// End returns the last events of a response that ended well, with the calls that nobody
// closed. It returns an error if the provider or the model withheld the answer.
func (a *itemsAnswer) End() ([]backends.Event, error) {
	events := append(a.held(), wire.TextEvents(a.tags.end())...)
	for _, at := range a.items {
		if at.Type == callItem && !at.done && (a.reason == "completed" || a.reason == "") {
			events = append(events, a.call(at))
		}
	}
	events = append(events, a.builtIn.counted(a.usage.Events())...)
	if err := wire.CheckEnding(a.reason, ""); err != nil {
		return events, err
	}
	switch {
	case a.refusal.Len() > 0 && a.speaker == nil && len(a.callIDs) == 0:
		return events, &wire.Refusal{Message: joinHalves(a.refusal.String())}
	case a.reason == "max_output_tokens":
		a.reason = "length" // the word of chat completions
	}
	return append(events, backends.Finish{Reason: a.reason}), nil
}

// abandon returns the usage, if the service sent it, and the partly received calls.
func (a *itemsAnswer) abandon() ([]backends.Event, []backends.ToolCall) {
	var calls []backends.ToolCall
	for _, at := range a.items {
		if at.Type == callItem && !at.done {
			calls = append(calls, a.call(at))
		}
	}
	return a.builtIn.counted(a.usage.Events()), calls
}
