package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/wire"
)

// chunk is one piece of a streamed answer (OpenAI's "chat completion chunk
// object"), or the whole answer of a service that does not stream.
type chunk struct {
	Choices []struct {
		Index        int    `json:"index"`
		Delta        delta  `json:"delta"`
		Message      delta  `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

type delta struct {
	Content content `json:"content"`
	// Services call their thinking one or the other, and some send both.
	ReasoningContent string         `json:"reasoning_content"`
	Reasoning        string         `json:"reasoning"`
	Refusal          string         `json:"refusal"`
	ToolCalls        []callFragment `json:"tool_calls"`
}

// content is a text, or a list of parts as Mistral sends it, of which the text
// ones count.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*string)(c))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type == "text" {
			*c += content(p.Text)
		}
	}
	return nil
}

type usage struct {
	PromptTokens     wire.Count `json:"prompt_tokens"`
	CompletionTokens wire.Count `json:"completion_tokens"`
	PromptDetails    *struct {
		CachedTokens     wire.Count `json:"cached_tokens"`
		CacheWriteTokens wire.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	// DeepSeek's word for the cached tokens.
	PromptCacheHitTokens wire.Count `json:"prompt_cache_hit_tokens"`
}

// UnmarshalJSON reads a usage, or makes one that is unknown of what is none.
func (u *usage) UnmarshalJSON(data []byte) error {
	type fields usage
	if json.Unmarshal(data, (*fields)(u)) != nil {
		u.PromptTokens = wire.UnknownCount
	}
	return nil
}

func (u usage) event() backends.Usage {
	out := backends.Usage{
		InputTokens:       int(u.PromptTokens),
		OutputTokens:      int(u.CompletionTokens),
		CachedInputTokens: int(u.PromptCacheHitTokens),
	}
	if u.PromptDetails != nil {
		out.CachedInputTokens = int(u.PromptDetails.CachedTokens)
		out.CacheWriteTokens = int(u.PromptDetails.CacheWriteTokens)
	}
	return out
}

// known says whether every count could be read.
func (u usage) known() bool {
	out := u.event()
	return min(out.InputTokens, out.OutputTokens, out.CachedInputTokens, out.CacheWriteTokens) >= 0
}

// answer puts the chunks of one stream together.
type answer struct {
	calls   callMerger
	text    charJoiner
	thought charJoiner
	refusal strings.Builder
	usage   *usage
	reason  string
	hasText bool
	begun   bool // whether any part of a message came, yielded or not
}

func newAnswer(key backends.Key) *answer {
	return &answer{calls: callMerger{key: key}}
}

// finished says whether a finish reason came.
func (a *answer) finished() bool { return a.reason != "" }

// maxShown is how much of a piece of a stream goes into an error. Package wire cuts
// it further, once it has taken out secrets.
const maxShown = 4 << 10

// add takes a chunk and returns the events that need not wait.
func (a *answer) add(raw []byte) ([]backends.Event, error) {
	var c chunk
	raw, broken := hideBrokenChars(raw)
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("a piece of the stream cannot be read (%w): %s", err, raw[:min(len(raw), maxShown)])
	}
	a.addUsage(c.Usage)
	var events []backends.Event
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
		for _, d := range []delta{choice.Delta, choice.Message} {
			if broken {
				d.unhide()
			}
			more, err := a.addDelta(d)
			events = append(events, more...)
			if err != nil {
				return events, err
			}
		}
	}
	return events, nil
}

// addUsage takes the newest usage, if there is one. Zeros mean that the service did
// not count: an input has at least a token.
func (a *answer) addUsage(u *usage) {
	switch {
	case u == nil:
	case !u.known():
		a.usage = nil
	case u.PromptTokens > 0 || u.CompletionTokens > 0:
		a.usage = u
	}
}

// unhide undoes hideBrokenChars in the texts that a character may be cut in.
func (d *delta) unhide() {
	d.Content = content(unhide(string(d.Content)))
	d.ReasoningContent = unhide(d.ReasoningContent)
	d.Reasoning = unhide(d.Reasoning)
	for i := range d.ToolCalls {
		f := &d.ToolCalls[i].Function
		f.Arguments = arguments(unhide(string(f.Arguments)))
	}
}

func (a *answer) addDelta(d delta) ([]backends.Event, error) {
	reasoning := d.ReasoningContent
	if reasoning == "" {
		reasoning = d.Reasoning
	}
	a.begun = a.begun || reasoning != "" || d.Content != "" || d.Refusal != "" || len(d.ToolCalls) > 0
	a.hasText = a.hasText || d.Content != ""
	a.refusal.WriteString(d.Refusal)
	for _, f := range d.ToolCalls {
		if err := a.calls.add(f); err != nil {
			return nil, err
		}
	}
	return textEvents(a.thought.join(reasoning), a.text.join(string(d.Content))), nil
}

func textEvents(reasoning, text string) []backends.Event {
	var events []backends.Event
	if reasoning != "" {
		events = append(events, backends.ReasoningDelta{Text: reasoning})
	}
	if text != "" {
		events = append(events, backends.TextDelta{Text: text})
	}
	return events
}

// end returns the events of a stream that ended well: its calls, whatever the
// finish reason says, then usage and finish. An answer that the provider or the
// model withheld is an error.
func (a *answer) end() ([]backends.Event, error) {
	calls := a.calls.merged()
	switch {
	case a.reason == "content_filter":
		return nil, &wire.Refusal{Message: "the provider's content filter stopped the answer"}
	case a.reason == "error":
		return nil, &wire.StreamError{Body: []byte(`{"error":"the service ended the answer with an error that it does not explain"}`)}
	case a.refusal.Len() > 0 && !a.hasText && len(calls) == 0:
		return nil, &wire.Refusal{Message: a.refusal.String()}
	}
	events := textEvents(a.thought.end(), a.text.end())
	for _, c := range calls {
		events = append(events, c)
	}
	if a.usage != nil {
		events = append(events, a.usage.event())
	}
	return append(events, backends.Finish{Reason: a.reason}), nil
}
