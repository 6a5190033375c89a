package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/finish"
	"github.com/massgen/massgen/internal/models/wire"
)

// chunk is one piece of a streamed answer (OpenAI's "chat completion chunk
// object"), or the whole answer of a service that does not stream.
type chunk struct {
	Choices []struct {
		Index        *int   `json:"index"`
		Delta        delta  `json:"delta"`
		Message      delta  `json:"message"`
		FinishReason string `json:"finish_reason"`
		// Error is OpenRouter's place for the error of a provider behind it.
		Error json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

// isAnswer reports whether body is a chunk, or the whole answer of a service that does not stream.
func isAnswer(body []byte) bool {
	var whole struct {
		Choices []json.RawMessage `json:"choices"`
	}
	return json.Unmarshal(body, &whole) == nil && whole.Choices != nil
}

type delta struct {
	Content content `json:"content"`
	// Services call their thinking one or the other, and some send both.
	ReasoningContent rawText        `json:"reasoning_content"`
	Reasoning        rawText        `json:"reasoning"`
	ReasoningDetails detailPieces   `json:"reasoning_details"`
	Refusal          string         `json:"refusal"`
	ToolCalls        []callFragment `json:"tool_calls"`
	Annotations      annotations    `json:"annotations"`
	extras
}

// content is a text, or a list of parts as Mistral sends it. Only parts with text or
// thinking count.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return (*rawText)(&c.text).UnmarshalJSON(data)
	}
	var parts []struct {
		Type     string   `json:"type"`
		Text     rawText  `json:"text"`
		Thinking thoughts `json:"thinking"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			c.text += string(p.Text)
		case "thinking":
			c.thinking += string(p.Thinking)
		}
	}
	return nil
}

// thoughts are a text, or a list of parts with one.
type thoughts string

func (t *thoughts) UnmarshalJSON(data []byte) error {
	if (*rawText)(t).UnmarshalJSON(data) == nil {
		return nil
	}
	var parts []struct {
		Text rawText `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*t += thoughts(p.Text)
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

	TotalTokens       wire.Count `json:"total_tokens"`
	CompletionDetails *struct {
		ReasoningTokens wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// Usage returns the counts in the words of package backends.
func (u usage) Usage() backends.Usage {
	out := backends.Usage{
		InputTokens:       int(u.PromptTokens),
		OutputTokens:      int(u.CompletionTokens),
		CachedInputTokens: int(u.PromptCacheHitTokens),
	}
	if u.PromptDetails != nil {
		out.CachedInputTokens = int(u.PromptDetails.CachedTokens)
		out.CacheWriteTokens = int(u.PromptDetails.CacheWriteTokens)
	}
	if u.CompletionDetails != nil {
		out.ReasoningTokens = int(u.CompletionDetails.ReasoningTokens)
		out.OutputTokens += int(beside(u.PromptTokens, u.CompletionTokens, u.CompletionDetails.ReasoningTokens, u.TotalTokens))
	}
	return out
}

// beside returns the tokens of reasoning that the output's count does not include, as xAI and Google
// count. The total shows it.
func beside(input, output, reasoning, total wire.Count) wire.Count {
	if reasoning > 0 && total == input+output+reasoning {
		return reasoning
	}
	return 0
}

// answer puts the chunks of one stream together.
type answer struct {
	calls   callMerger
	text    charJoiner
	thought charJoiner
	tags    tagSplitter
	kept    reasoningKeeper
	from    origin
	refusal strings.Builder
	usage   wire.UsageKeeper
	sources chatSources
	others  otherChoices
	// searches reports whether the call asks for a search.
	searches bool

	// loop is nil where an answer may repeat itself.
	loop *wire.Repetition

	reason string
	// progress has no Finished and no Whole: the reason tells these.
	progress wire.Progress
}

func newAnswer(key backends.Key, d Dialect, from origin) *answer {
	a := &answer{calls: callMerger{key: key}, kept: reasoningKeeper{form: d.Reasoning}, from: from}
	if d.ThinkTags {
		a.tags.state = atStart
	}
	if d.EndsLoops {
		a.loop = &wire.Repetition{}
	}
	return a
}

// Progress returns how far the answer has come.
func (a *answer) Progress() wire.Progress {
	now := a.progress
	now.Finished = a.reason != "" && !a.others.open
	now.Whole = now.Finished
	return now
}

// Add takes a chunk and returns the events that need not wait.
func (a *answer) Add(c chunk) ([]backends.Event, error) {
	a.usage.Add(c.Usage, &usage{})
	var events []backends.Event
	for i, choice := range c.Choices {
		if choice.Index != nil {
			i = *choice.Index
		}
		if i != 0 && a.others.ignored {
			continue
		}
		if err := wire.ErrorObject(choice.Error); err != nil {
			return events, err
		}
		for _, d := range []delta{choice.Delta, choice.Message} {
			more, err := a.addDelta(i, d)
			events = append(events, more...)
			if err != nil {
				return events, err
			}
		}
		if choice.FinishReason != "" && choice.FinishReason != "null" && !a.progress.Ended {
			a.reason = a.others.end(i, a.reason, choice.FinishReason)
		}
	}
	return events, nil
}

// addDelta takes a piece of the choice with this index.
func (a *answer) addDelta(choice int, d delta) ([]backends.Event, error) {
	reasoning := cmp.Or(string(d.ReasoningContent), string(d.Reasoning), d.Content.thinking)
	content := d.Content.text
	a.progress.Begun = a.progress.Begun || reasoning != "" || content != "" || d.Refusal != "" || len(d.ToolCalls) > 0
	a.refusal.WriteString(d.Refusal)
	a.progress.Size += len(reasoning) + len(content) + len(d.Refusal) + d.ReasoningDetails.size()
	a.sources = append(a.sources, d.Annotations.events()...)
	var pieces []backends.Event
	for _, f := range d.ToolCalls {
		a.others.open = a.others.open || choice != 0
		piece, err := a.calls.add(choice, f)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece...)
		a.progress.Size += len(f.Function.Arguments)
		a.noteLoop(string(f.Function.Arguments))
	}
	a.noteLoop(reasoning + content)
	if choice != 0 {
		a.others.hold(choice, reasoning, content)
		reasoning, content = "", ""
	}
	a.kept.add(reasoning, d.ReasoningDetails)
	a.kept.extras.addSigned(d.extras)
	return append(a.say(reasoning, content), pieces...), nil
}

// say returns the events of a piece of the message.
func (a *answer) say(reasoning, content string) []backends.Event {
	a.others.hasText = a.others.hasText || strings.TrimSpace(content) != ""
	a.others.hasReasoning = a.others.hasReasoning || reasoning != ""
	tagged, text := a.tags.split(a.text.join(content))
	return wire.TextEvents(a.thought.join(reasoning)+tagged, text)
}

// sayOthers returns the texts of the other choices in place of those that choice 0 lacks.
func (a *answer) sayOthers() []backends.Event {
	reasoning, content := a.others.first()
	a.kept.add(reasoning, nil)
	return a.say(reasoning, content)
}

// noteLoop ends the answer if the model only repeats itself.
func (a *answer) noteLoop(piece string) {
	if a.loop.Add(piece) {
		a.progress.Ended, a.reason = true, finish.Repetition
	}
}

// End returns the events of a stream that ended well: its calls, whatever the
// finish reason says, then usage and finish. An answer that the provider or the
// model withheld is an error.
func (a *answer) End() ([]backends.Event, error) {
	calls := a.calls.merged()
	if err := wire.CheckEnding(a.reason, ""); err != nil {
		return nil, err
	}
	events := a.sayOthers()
	if a.refusal.Len() > 0 && !a.others.hasText && len(calls) == 0 {
		return nil, &wire.Refusal{Message: a.refusal.String()}
	}
	events = append(events, a.rest()...)
	if part, ok := a.kept.opaque(a.from, a.calls.kept); ok {
		events = append(events, part)
	}
	for _, c := range calls {
		events = append(events, c)
	}
	events = append(events, a.sources.end()...)
	events = append(events, a.counted(a.usage.Events())...)
	return append(events, backends.Finish{Reason: a.reason}), nil
}

// abandon returns the usage, if the service sent it, and the partly received calls.
func (a *answer) abandon() ([]backends.Event, []backends.ToolCall) {
	return a.counted(a.usage.Events()), a.calls.merged()
}

// rest returns the text that was held back.
func (a *answer) rest() []backends.Event {
	tagged, text := a.tags.split(a.text.end())
	heldTagged, heldText := a.tags.end()
	return wire.TextEvents(a.thought.end()+tagged+heldTagged, text+heldText)
}
