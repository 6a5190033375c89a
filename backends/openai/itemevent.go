package openai

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// cancelledEvent is an event that go-openai has no name for.
const cancelledEvent = goopenai.ResponseStreamEventType("response.cancelled")

// itemEvent is one event of a streamed response (OpenAI's "Streaming events"), or the
// whole response of a service that does not stream.
type itemEvent struct {
	Type         goopenai.ResponseStreamEventType `json:"type"`
	OutputIndex  int                              `json:"output_index"`
	ContentIndex int                              `json:"content_index"`
	SummaryIndex int                              `json:"summary_index"`
	ItemID       string                           `json:"item_id"`
	Delta        pieceText                        `json:"delta"`
	Arguments    arguments                        `json:"arguments"`
	Item         json.RawMessage                  `json:"item"`
	Annotation   json.RawMessage                  `json:"annotation"`
	Response     response                         `json:"response"`
	response
	failure
}

// pieceText is a piece of a text. The events of built-in tools may have any JSON in its place,
// which is ignored.
type pieceText string

// UnmarshalJSON reads a string, and ignores any other JSON.
func (t *pieceText) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return nil
	}
	return (*rawText)(t).UnmarshalJSON(data)
}

// failure has the fields of an error event.
type failure struct {
	Code    json.RawMessage `json:"code,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
}

// response has the fields of a response object that this package reads.
type response struct {
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      json.RawMessage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// item has the fields of an output item that this package reads.
type item struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Status    string    `json:"status"`
	Phase     string    `json:"phase"`
	CallID    string    `json:"call_id"`
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
	Encrypted string    `json:"encrypted_content"`
	Content   []struct {
		Text        rawText     `json:"text"`
		Refusal     rawText     `json:"refusal"`
		Annotations annotations `json:"annotations"`
	} `json:"content"`
	Summary []struct {
		Text rawText `json:"text"`
	} `json:"summary"`
}

// readItem reads an item. An item that cannot be read has no type.
func readItem(raw json.RawMessage) item {
	var out item
	if json.Unmarshal(raw, &out) != nil {
		return item{}
	}
	return out
}

// name returns a name that no other item of the response has: from the item's id, else its text,
// else its index. For a call it prefers the id that the call's result names.
func (i item) name(index int) string {
	names := []string{i.ID, i.Encrypted + i.summary() + i.text(), strconv.Itoa(index)}
	if i.Type == callItem {
		names = []string{i.CallID, i.ID, strconv.Itoa(index)}
	}
	return i.Type + " " + cmp.Or(names...) + " " + i.Name + " " + string(i.Arguments)
}

// text is the text of a message, or the whole text of reasoning, where a service shows it.
func (i item) text() string {
	var out strings.Builder
	for _, c := range i.Content {
		out.WriteString(string(c.Text))
	}
	return out.String()
}

func (i item) refusal() string {
	var out strings.Builder
	for _, c := range i.Content {
		out.WriteString(string(c.Refusal))
	}
	return out.String()
}

func (i item) summary() string {
	var parts []string
	for _, s := range i.Summary {
		parts = append(parts, string(s.Text))
	}
	return strings.Join(parts, "\n\n")
}

// saidArguments are the arguments of a call as they came at its end, else as they streamed.
func (at *openItem) saidArguments() string {
	if at.Arguments != "" {
		return joinHalves(string(at.Arguments))
	}
	return joinHalves(at.arguments.text.String())
}

type itemUsage struct {
	InputTokens  wire.Count `json:"input_tokens"`
	OutputTokens wire.Count `json:"output_tokens"`
	TotalTokens  wire.Count `json:"total_tokens"`
	InputDetails struct {
		CachedTokens     wire.Count `json:"cached_tokens"`
		CacheWriteTokens wire.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		ReasoningTokens wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// Usage returns the counts in the words of package backends.
func (u itemUsage) Usage() backends.Usage {
	beside := beside(u.InputTokens, u.OutputTokens, u.OutputDetails.ReasoningTokens, u.TotalTokens)
	return backends.Usage{
		InputTokens: int(u.InputTokens), OutputTokens: int(u.OutputTokens + beside),
		CachedInputTokens: int(u.InputDetails.CachedTokens), CacheWriteTokens: int(u.InputDetails.CacheWriteTokens),
		ReasoningTokens: int(u.OutputDetails.ReasoningTokens),
	}
}
