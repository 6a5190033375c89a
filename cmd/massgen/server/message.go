package server

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
)

// message is a message of a client's conversation, from any of the routes.
type message struct {
	role string // one of the roles below
	text string
	// files are the pictures and documents beside the text.
	files []backends.File
	// calls are the tool calls of an assistant message. answers is the id of the call whose result a
	// tool message has.
	calls   []toolCall
	answers string
	// reference is the item of an earlier response that the message stands for, nil for a message of its own.
	reference *itemReference
}

// The roles of messages. A developer's message is a system message.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// toolCall is a call of a client's tool.
type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func newToolCall(id, name, arguments string) (c toolCall) {
	c.ID, c.Type, c.Function.Name, c.Function.Arguments = id, "function", name, arguments
	return c
}

// chatMessage is a message in the form of chat completions.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	// FunctionCall is the call of an assistant message in the API's older form, whose result has the role
	// function. It has no id.
	FunctionCall *struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function_call"`
}

// mostMessages is the highest number of messages in a request. Each exchange becomes a turn of its
// session while other requests wait.
const mostMessages = 4096

func checkCount(place string, count int) error {
	if count <= mostMessages {
		return nil
	}
	return badRequest(place, fmt.Sprintf("%s: there are %d, and the most is %d: go on in a session, by metadata.session_id", place, count, mostMessages))
}

// readChat returns the messages of a request. Errors name the place of a message.
func readChat(list []chatMessage) ([]message, error) {
	if err := checkCount("messages", len(list)); err != nil {
		return nil, err
	}
	messages := make([]message, len(list))
	for i, m := range list {
		place := fmt.Sprintf("messages[%d]", i)
		read := message{role: m.Role, calls: m.ToolCalls, answers: m.ToolCallID}
		if f := m.FunctionCall; f != nil {
			read.calls = append(read.calls, newToolCall("", f.Name, f.Arguments))
		}
		switch m.Role {
		case "developer":
			read.role = roleSystem
		case "function":
			read.role = roleTool
		case roleSystem, roleUser, roleAssistant, roleTool:
		default:
			return nil, badRequest(place+".role", fmt.Sprintf("%s.role is %q: it is system, developer, user, assistant or tool", place, shortened(m.Role)))
		}
		var err error
		if err = read.take(place+".content", m.Content); err != nil {
			return nil, err
		}
		messages[i] = read
	}
	return messages, nil
}

// take reads a message's content: a string, or a list of parts.
func (m *message) take(place string, content json.RawMessage) error {
	if len(content) == 0 || string(content) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		m.text = contextbuild.Clean(text)
		return nil
	}
	var parts []contentPart
	if json.Unmarshal(content, &parts) != nil {
		return badRequest(place, place+" is neither a string nor a list of parts")
	}
	var texts []string
	for i, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		case "image_url", "input_image", "file", "input_file":
			file, err := p.read(fmt.Sprintf("%s[%d]", place, i), m.role)
			if err != nil {
				return err
			}
			m.files = append(m.files, file)
		default:
			return badRequest(fmt.Sprintf("%s[%d].type", place, i), fmt.Sprintf("%s[%d].type is %q: this server takes text, images and files", place, i, shortened(p.Type)))
		}
	}
	m.text = contextbuild.Clean(strings.Join(texts, "\n"))
	return nil
}
