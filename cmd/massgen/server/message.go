package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/models/attach"
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

// chatMessage is a message in the form of chat completions.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
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
		switch m.Role {
		case "developer":
			read.role = roleSystem
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

// exchange is a question that was answered.
type exchange struct{ question, answer string }

// conversation is the content of a request's messages.
type conversation struct {
	system   []string
	history  []exchange
	question string
	// files are the files of all questions, each one once. A client repeats the files with the
	// conversation, and expects the model to see them.
	files []backends.File
}

// The texts of a user who wrote none. Some services refuse a user's message without a text.
const (
	greetedText   = "(The assistant begins the conversation.)"
	onlyFilesText = "(See the attached files.)"
)

// converse sorts the messages of a request. It ignores texts of white space alone. If nobody but the system
// speaks, its last message is the question. It keeps no calls of tools and no results, only the assistant's
// texts.
func converse(messages []message) (conversation, error) {
	var c conversation
	var asked, answered []string
	for _, m := range messages {
		isBlank := strings.TrimSpace(m.text) == ""
		if m.role == roleUser && isBlank && len(m.files) > 0 {
			m.text, isBlank = onlyFilesText, false
		}
		switch {
		case isBlank:
		case m.role == roleSystem:
			c.system = append(c.system, m.text)
		case m.role == roleUser:
			if len(answered) > 0 {
				c.history = append(c.history, exchange{cmp.Or(strings.Join(asked, "\n\n"), greetedText), strings.Join(answered, "\n\n")})
				asked, answered = nil, nil
			}
			asked = append(asked, m.text)
			c.files = append(c.files, m.files...)
		case m.role == roleAssistant:
			answered = append(answered, m.text)
		}
	}
	if last := len(c.system) - 1; last >= 0 && len(asked)+len(answered) == 0 {
		asked, c.system = c.system[last:], c.system[:last]
	}
	if len(answered) > 0 {
		return c, badRequest("messages", "messages: the last one must be a question, with the role user")
	}
	c.question = strings.Join(asked, "\n\n")
	c.files = attach.Once(c.files)
	if err := attach.Check(c.files); err != nil {
		return c, badRequest("messages", "messages: "+err.Error())
	}
	return c, nil
}
