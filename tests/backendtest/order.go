package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The services refuse a conversation in which a tool call lacks its result, a result
// lacks its call, or either is in the wrong place. The descriptions of their APIs do
// not say so, and most mocks do not look.

// CheckChatOrder says what is wrong with the order of tool calls and results in a
// request body of OpenAI's chat completions, or returns nil: the messages right after
// one with calls are their results, one for each.
func CheckChatOrder(body []byte) error {
	var request struct {
		Messages []decodedMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return fmt.Errorf("read the messages: %w", err)
	}
	var entries []entry
	for i, m := range request.Messages {
		if last := len(entries) - 1; m.Role == "tool" && last >= 0 && len(entries[last].results) > 0 {
			entries[last].results = append(entries[last].results, m.ToolCallID)
			continue
		}
		e := entry{at: i}
		if m.Role == "tool" {
			e.results = []string{m.ToolCallID}
		}
		for _, c := range m.ToolCalls {
			if slices.Contains(e.calls, c.ID) {
				return fmt.Errorf("message %d has two calls %q", i, c.ID)
			}
			e.calls = append(e.calls, c.ID)
		}
		entries = append(entries, e)
	}
	return checkEntries(entries)
}

// CheckMessagesOrder is CheckChatOrder for Anthropic's Messages API: the message right
// after one with calls is the user's and begins with their results, one for each. The
// ids of calls differ in the whole conversation.
func CheckMessagesOrder(body []byte) error {
	var request struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return fmt.Errorf("read the messages: %w", err)
	}
	var entries []entry
	ids := map[string]bool{}
	for i, m := range request.Messages {
		var blocks []struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			ToolUseID string `json:"tool_use_id"`
		}
		var text string
		if err := json.Unmarshal(m.Content, &blocks); err != nil && json.Unmarshal(m.Content, &text) != nil {
			return fmt.Errorf("read the content of message %d: %w", i, err)
		}
		e := entry{at: i, fromModel: m.Role == "assistant"}
		for _, b := range blocks {
			var err error
			switch b.Type {
			case "tool_use":
				if ids[b.ID] {
					return fmt.Errorf("message %d has a call %q, as there was before", i, b.ID)
				}
				ids[b.ID] = true
				err = e.addCall(b.ID)
			case "tool_result":
				err = e.addResult(b.ToolUseID)
			default:
				e.hasOther = true
			}
			if err != nil {
				return err
			}
		}
		entries = append(entries, e)
	}
	return checkEntries(entries)
}

// CheckContentsOrder is CheckChatOrder for the Gemini API: a content with calls comes
// after one of the user; the content right after it is the user's and begins with
// their results, one for each, with the same ids and names. A call may have no id.
func CheckContentsOrder(body []byte) error {
	type named struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	var request struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				FunctionCall     *named `json:"functionCall"`
				FunctionResponse *named `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return fmt.Errorf("read the contents: %w", err)
	}
	var entries []entry
	for i, c := range request.Contents {
		e := entry{at: i, fromModel: c.Role == "model"}
		for _, p := range c.Parts {
			var err error
			switch {
			case p.FunctionCall != nil:
				err = e.addCall(p.FunctionCall.Name + " " + p.FunctionCall.ID)
			case p.FunctionResponse != nil:
				err = e.addResult(p.FunctionResponse.Name + " " + p.FunctionResponse.ID)
			default:
				e.hasOther = true
			}
			if err != nil {
				return err
			}
		}
		if len(e.calls) > 0 && (i == 0 || entries[i-1].fromModel) {
			return fmt.Errorf("content %d has calls and does not come after one of the user", i)
		}
		entries = append(entries, e)
	}
	return checkEntries(entries)
}

// entry is what the order is about in a message, or in all the messages with the
// results of one.
type entry struct {
	at             int // the number of the message, from 0
	calls, results []string
	fromModel      bool
	hasOther       bool // holds more than calls and results
}

func (e *entry) addCall(id string) error {
	if !e.fromModel {
		return fmt.Errorf("message %d has a call %q and is not the model's", e.at, id)
	}
	e.calls = append(e.calls, id)
	return nil
}

func (e *entry) addResult(id string) error {
	if e.fromModel {
		return fmt.Errorf("message %d has a result of %q and is the model's", e.at, id)
	}
	if e.hasOther {
		return fmt.Errorf("message %d has something before the result of %q", e.at, id)
	}
	e.results = append(e.results, id)
	return nil
}

// checkEntries wants the results of each entry to be those of the calls of the entry
// before it.
func checkEntries(entries []entry) error {
	var open []string
	for _, e := range entries {
		for _, id := range e.results {
			i := slices.Index(open, id)
			if i < 0 {
				return fmt.Errorf("message %d: the result of %q belongs to no call of the message before it, or is a second one", e.at, id)
			}
			open = slices.Delete(open, i, i+1)
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d: results of %q are missing", e.at, open)
		}
		open = slices.Clone(e.calls)
	}
	if len(open) > 0 {
		return errors.New("the conversation ends without the results of its last calls")
	}
	return nil
}
