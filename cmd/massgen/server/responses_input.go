package server

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/sessions"
)

// responseRequest is a request for a response. Parameters of models, such as temperature, are
// ignored, as in chat completions.
type responseRequest struct {
	Model        string                     `json:"model"`
	Input        json.RawMessage            `json:"input"`
	Instructions *string                    `json:"instructions"`
	Stream       bool                       `json:"stream"`
	Background   bool                       `json:"background"`
	Previous     *string                    `json:"previous_response_id"`
	Conversation json.RawMessage            `json:"conversation"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
	Tools        []responseTool             `json:"tools"`
	ToolChoice   json.RawMessage            `json:"tool_choice"`
	Text         struct {
		Format json.RawMessage `json:"format"`
	} `json:"text"`
}

// responseTool is a tool of a request for a response.
type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// tools returns the tools that the client runs, and the place of the web search, "" if none is asked for.
func (q responseRequest) tools() (list []toolDefinition, search string, err error) {
	isOffered, err := toolChoice(q.ToolChoice)
	if err != nil || !isOffered {
		return nil, "", err
	}
	for i, t := range q.Tools {
		if t.Type == "web_search" || strings.HasPrefix(t.Type, "web_search_") { // OpenAI's search, in any of its versions
			search = fmt.Sprintf("tools[%d]", i)
			continue
		}
		if err := checkToolType(i, t.Type); err != nil {
			return nil, "", err
		}
		list = append(list, toolDefinition{t.Name, t.Description, t.Parameters})
	}
	if len(list) > 0 && q.Background {
		return nil, "", badRequest("tools", "tools: nobody would run them for a response in the background")
	}
	return list, search, nil
}

// request returns the question.
func (q responseRequest) request() (asked request, err error) {
	if q.Model == "" {
		return asked, badRequest("model", "model is missing: GET /v1/models lists them")
	}
	asked = request{model: q.Model, background: q.Background, said: &asking{IsBackground: q.Background}}
	if q.Instructions != nil {
		asked.messages = []message{{role: roleSystem, text: *q.Instructions}}
	}
	input, err := readInput(q.Input)
	if err != nil {
		return asked, err
	}
	asked.messages = append(asked.messages, input...)
	if asked.tools, asked.search, err = q.tools(); err != nil {
		return asked, err
	}
	var format *answerFormat
	if len(q.Text.Format) > 0 && json.Unmarshal(q.Text.Format, &format) != nil {
		return asked, badRequest("text.format", "text.format is no object")
	}
	if asked.schema, err = format.schema("text.format", "text.format.schema"); err != nil {
		return asked, err
	}
	if asked.schema != nil {
		asked.said.Format = q.Text.Format
	}
	if asked.session, err = sessionOf(q.Conversation, q.Metadata); err != nil {
		return asked, err
	}
	if asked.said.Metadata, err = readMetadata(q.Metadata); err != nil || q.Previous == nil {
		return asked, err
	}
	previous, isID := readResponseID(*q.Previous)
	if asked.previous = &previous; isID { // checkPrevious refuses the zero place
		asked.said.Previous = *q.Previous
	}
	return asked, nil
}

// The limits of a response's metadata in OpenAI's API.
const (
	mostMetadata      = 16
	mostMetadataKey   = 64
	mostMetadataValue = 512
)

// readMetadata returns the metadata of a request, which the response repeats.
func readMetadata(given map[string]json.RawMessage) (map[string]string, error) {
	if len(given) > mostMetadata {
		return nil, badRequest("metadata", fmt.Sprintf("metadata has %d keys, more than %d", len(given), mostMetadata))
	}
	metadata := map[string]string{}
	for key, value := range given {
		var text string
		if json.Unmarshal(value, &text) != nil {
			return nil, badRequest("metadata."+shortened(key), fmt.Sprintf("metadata.%s is no string", shortened(key)))
		}
		if utf8.RuneCountInString(key) > mostMetadataKey || utf8.RuneCountInString(text) > mostMetadataValue {
			return nil, badRequest("metadata."+shortened(key), fmt.Sprintf("metadata.%s is too long: a key has at most %d characters, and a value %d", shortened(key), mostMetadataKey, mostMetadataValue))
		}
		metadata[key] = text
	}
	return metadata, nil
}

// inputItem is an item of a response's input: a message, a call of a client's tool, its result, or a
// reference to an item of an earlier output.
type inputItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"` // of a custom tool's call
	Output    json.RawMessage `json:"output"`
}

// readInput returns the messages of an input: a question, or a list of items.
func readInput(input json.RawMessage) ([]message, error) {
	var question string
	if json.Unmarshal(input, &question) == nil {
		return readChat([]chatMessage{{Role: roleUser, Content: input}})
	}
	var items []inputItem
	if json.Unmarshal(input, &items) != nil || len(items) == 0 {
		return nil, badRequest("input", "input is neither a question nor a list of items")
	}
	if err := checkCount("input", len(items)); err != nil {
		return nil, err
	}
	var messages []message
	for i, item := range items {
		place := fmt.Sprintf("input[%d]", i)
		read, err := item.message(place)
		if err != nil {
			return nil, err
		}
		last := len(messages) - 1
		switch {
		case read.role == "":
		case len(read.calls) > 0 && read.reference == nil && last >= 0 && messages[last].role == roleAssistant && messages[last].reference == nil:
			messages[last].calls = append(messages[last].calls, read.calls...)
		default:
			messages = append(messages, read)
		}
	}
	return messages, nil
}

// message returns the item as a message, without a role if it has nothing for a model.
func (i inputItem) message(place string) (m message, err error) {
	kind := i.Type
	switch {
	case kind == "" && i.Role == "" && i.ID != "":
		kind = "item_reference" // the type is optional
	case kind == "":
		kind = "message"
	}
	switch kind {
	case "message":
		m = message{role: i.Role}
		switch i.Role {
		case "developer":
			m.role = roleSystem
		case roleSystem, roleUser, roleAssistant:
		default:
			return m, badRequest(place+".role", fmt.Sprintf("%s.role is %q: it is system, developer, user or assistant", place, shortened(i.Role)))
		}
		err = m.take(place+".content", i.Content)
	case "function_call", "custom_tool_call":
		m = message{role: roleAssistant, calls: []toolCall{newToolCall(i.CallID, i.Name, cmp.Or(i.Arguments, i.Input))}}
	case "function_call_output", "custom_tool_call_output":
		m = message{role: roleTool, answers: i.CallID}
		err = m.take(place+".output", i.Output)
	case "reasoning": // the agents' messages before an answer
	case "item_reference":
		m = message{role: roleAssistant}
		m.reference, err = readReference(place, i.ID)
	default:
		return m, badRequest(place+".type", fmt.Sprintf("%s.type is %q: it is message, function_call, function_call_output, reasoning or item_reference", place, shortened(kind)))
	}
	return m, err
}

// The ids of responses.
const (
	responsePrefix = "resp_"
	mostResponseID = 4096
)

// responseID returns the id of a response, which contains the place of its turn. seen is the number of
// the turn's events that the client saw before this response.
func responseID(p turnPlace, seen int) string {
	return responsePrefix + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d\n%s\n%s", p.turn, seen, p.model, p.session))
}

// readResponseID returns the turn that an id names.
func readResponseID(id string) (p turnPlace, isID bool) {
	text, isID := strings.CutPrefix(id, responsePrefix)
	isID = isID && len(id) <= mostResponseID
	data, err := base64.RawURLEncoding.DecodeString(text)
	fields := strings.SplitN(string(data), "\n", 3)
	if !isID || err != nil || len(fields) < 3 {
		return turnPlace{}, false
	}
	number, _, _ := strings.Cut(fields[0], ".")
	p = turnPlace{place: place{session: fields[2]}, model: fields[1]}
	p.turn, err = strconv.Atoi(number)
	if err != nil || p.turn < 1 || sessions.CheckID(p.session) != nil {
		return turnPlace{}, false
	}
	return p, true
}
