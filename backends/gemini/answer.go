package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/system/plain"
)

// answer puts the chunks of one stream together.
type answer struct {
	key      backends.Key
	provider string
	model    string
	calls    []backends.ToolCall
	usage    wire.UsageKeeper
	reason   string
	// hasContent reports whether a part came that is not empty.
	hasContent bool
	hosted     builtIn
	size       int  // see wire.Progress
	begun      bool // whether any part of it came, readable or not
}

// Progress returns how far the answer has come. A service may send a finish reason before
// the content, and no end mark follows it.
func (a *answer) Progress() wire.Progress {
	finished := a.reason != ""
	return wire.Progress{Begun: a.begun, Finished: finished, Whole: finished && a.hasContent, Size: a.size}
}

// Add takes a chunk and returns its events, and an error if with it the service
// withheld the answer or gave up.
func (a *answer) Add(c chunk) ([]backends.Event, error) {
	a.usage.Add(c.UsageMetadata, &usage{})
	if reason := c.PromptFeedback.BlockReason; reason != "" {
		return a.used(), blockedPrompt(reason, c.PromptFeedback.BlockReasonMessage)
	}
	var events []backends.Event
	for _, candidate := range c.Candidates {
		if candidate.Index != 0 {
			continue
		}
		more, err := a.addCandidate(candidate)
		events = append(events, more...)
		if err != nil {
			return events, err
		}
	}
	return events, nil
}

func (a *answer) addCandidate(c candidate) ([]backends.Event, error) {
	var events []backends.Event
	for _, raw := range c.Content.Parts {
		more, err := a.addPart(raw)
		if err != nil {
			return events, err
		}
		events = append(events, more...)
	}
	a.hosted.addMetadata(c)
	if c.FinishReason == "" || c.FinishReason == string(genai.FinishReasonUnspecified) {
		return events, nil
	}
	a.reason = c.FinishReason
	if err := wire.CheckEnding(c.FinishReason, c.FinishMessage); err != nil {
		return append(events, a.used()...), err
	}
	return events, nil
}

// addPart returns the readable form of a part, followed by the part itself if it
// has to go back as it came: if it is signed, or of a kind that package backends does
// not know.
func (a *answer) addPart(raw json.RawMessage) ([]backends.Event, error) {
	a.begun = true
	a.size += len(raw)
	var p part
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf("a part of the answer cannot be read: %w", err)
	}
	switch {
	case p.FunctionCall != nil:
		return a.addCall(p)
	case p.Text != nil:
		return a.addText(p, raw), nil
	case isEmpty(raw):
		return nil, nil
	}
	return a.keep(a.hosted.addPart(raw), raw), nil
}

// isEmpty reports whether a part holds nothing. The service would refuse it.
func isEmpty(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return true
	}
	delete(fields, "thought")
	return len(fields) == 0
}

func (a *answer) addText(p part, raw json.RawMessage) []backends.Event {
	a.hasContent = a.hasContent || *p.Text != ""
	events := wire.TextEvents("", *p.Text)
	if p.Thought {
		events = wire.TextEvents(*p.Text, "")
	}
	if p.ThoughtSignature == "" {
		return events
	}
	return a.keep(events, raw)
}

// addCall returns a call and its signature. It ignores a call that comes a second time
// with the same id.
func (a *answer) addCall(p part) ([]backends.Event, error) {
	a.hasContent = true
	arguments := wire.TidyArguments(strings.ToValidUTF8(string(p.FunctionCall.Args), "\uFFFD"))
	call := backends.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: arguments}
	if call.Arguments == "null" {
		call.Arguments = "{}"
	}
	if call.ID != "" && slices.Contains(a.calls, call) {
		return nil, nil
	}
	if call.ID == "" || slices.ContainsFunc(a.calls, func(c backends.ToolCall) bool { return c.ID == call.ID }) {
		call.ID = derivedID(a.key, len(a.calls))
	}
	if len(a.calls) == wire.MaxCalls {
		return nil, wire.ErrTooManyCalls
	}
	a.calls = append(a.calls, call)
	events := []backends.Event{call}
	if p.ThoughtSignature == "" {
		return events, nil
	}
	signature, err := plain.JSON(part{ThoughtSignature: p.ThoughtSignature})
	if err != nil {
		return nil, fmt.Errorf("keep a signature: %w", err)
	}
	return a.keep(events, signature), nil
}

// keep adds what only the service can read, or all that must go back unchanged.
func (a *answer) keep(events []backends.Event, raw json.RawMessage) []backends.Event {
	return append(events, backends.Opaque{Provider: a.provider, Model: a.model, Data: raw})
}

// End returns the last events of a stream that ended well.
func (a *answer) End() ([]backends.Event, error) {
	events := a.hosted.end()
	events = append(events, a.used()...)
	return append(events, backends.Finish{Reason: a.reason}), nil
}

// used returns the usage until now, with the uses of hosted tools, if it is known.
func (a *answer) used() []backends.Event { return a.hosted.counted(a.usage.Events()) }
