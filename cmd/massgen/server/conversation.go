package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/models/attach"
)

// exchange is a question and its answer.
type exchange struct {
	// question has the user's texts, and the tool calls of other models with their results.
	question, answer string
	// work has the tool calls that a turn of this server asked its client for, with their results and the
	// texts around them. The session of that turn knows them.
	work string
}

// The texts of a user who wrote none. Some services refuse a user's message without a text.
const (
	greetedText   = "(The assistant begins the conversation.)"
	onlyFilesText = "(See the attached files.)"
)

// asked returns the question for a session that does not know the exchange.
func (e exchange) asked() string {
	return strings.Trim(e.question+"\n\n"+e.work, "\n")
}

// conversation is the content of a request's messages.
type conversation struct {
	system  []string
	history []exchange
	// open is the last exchange, without an answer.
	open exchange
	// files are the files of all questions, each one once. A client repeats the files with the
	// conversation, and expects the model to see them.
	files []backends.File
}

// converse sorts the messages of a request. It ignores texts of white space alone. If nobody but the system
// speaks, its last message is the question.
func converse(messages []message) (conversation, error) {
	var c conversation
	var s sorter
	for _, m := range messages {
		isBlank := strings.TrimSpace(m.text) == ""
		switch m.role {
		case roleSystem:
			if !isBlank {
				c.system = append(c.system, m.text)
			}
		case roleUser:
			if len(s.answered) > 0 {
				c.history = append(c.history, s.end())
			}
			c.files = append(c.files, m.files...)
			if isBlank && len(m.files) > 0 {
				m.text, isBlank = onlyFilesText, false
			}
			if !isBlank {
				s.ask(m.text)
			}
		case roleAssistant:
			s.answer(m, isBlank)
		case roleTool:
			s.result(m)
		}
	}
	if last := len(c.system) - 1; last >= 0 && s.isEmpty() {
		s.ask(c.system[last])
		c.system = c.system[:last]
	}
	if s.isAnswered() {
		return c, badRequest("messages", "messages: the last one must be a question, with the role user")
	}
	if !s.isEmpty() {
		c.open = s.end()
	}
	c.files = attach.Once(c.files)
	if err := attach.Check(c.files); err != nil {
		return c, badRequest("messages", "messages: "+err.Error())
	}
	return c, nil
}

// sorter collects an exchange.
type sorter struct {
	steps    []step
	answered []string
	// isCalling reports that neither a result nor a question has come since the last calls.
	isCalling bool
}

// step is a part of an exchange before its answer: a user's text, an assistant's text beside a call, or a
// call of a tool.
type step struct {
	// isWork reports that a turn of this server has made the step, or got it.
	isWork bool
	role   string
	text   string
	// call and result are those of a tool. hasResult is false until the result has come.
	call      toolCall
	result    string
	hasResult bool
}

func (s *sorter) isEmpty() bool { return len(s.steps)+len(s.answered) == 0 }

// isAnswered reports whether the exchange ends with the assistant: with an answer, or with calls.
func (s *sorter) isAnswered() bool { return len(s.answered) > 0 || s.isCalling }

// ask adds a text of the user. After a call of this server's turn, the text belongs to that turn.
func (s *sorter) ask(text string) {
	isWork := slices.ContainsFunc(s.steps, func(x step) bool { return x.isWork })
	s.steps = append(s.steps, step{isWork: isWork, role: roleUser, text: text})
	s.isCalling = false
}

// answer adds a message of the assistant. A text before a call is no answer.
func (s *sorter) answer(m message, isBlank bool) {
	if !isBlank {
		s.answered = append(s.answered, m.text)
	}
	if len(m.calls) == 0 {
		return
	}
	isWork := !slices.ContainsFunc(m.calls, func(c toolCall) bool {
		_, isOwn := turnOfCall(c.ID)
		return !isOwn
	})
	for _, text := range s.answered {
		s.steps = append(s.steps, step{isWork: isWork, role: roleAssistant, text: text})
	}
	s.answered, s.isCalling = nil, true
	for _, c := range m.calls {
		s.steps = append(s.steps, step{isWork: isWork, role: roleTool, call: c})
	}
}

// result adds the result of the first call with its id that has none. Some clients use an id again.
func (s *sorter) result(m message) {
	i := slices.IndexFunc(s.steps, func(x step) bool { return x.role == roleTool && !x.hasResult && x.call.ID == m.answers })
	if i < 0 {
		_, isWork := turnOfCall(m.answers)
		s.steps = append(s.steps, step{isWork: isWork, role: roleTool})
		i = len(s.steps) - 1
	}
	s.isCalling = false
	s.steps[i].result, s.steps[i].hasResult = m.text, true
}

// end returns the exchange, and begins the next one.
func (s *sorter) end() exchange {
	var question, work []string
	for _, x := range s.steps {
		if x.isWork {
			work = append(work, x.String())
		} else {
			question = append(question, x.String())
		}
	}
	if len(s.steps) == 0 {
		question = []string{greetedText}
	}
	e := exchange{strings.Join(question, "\n\n"), strings.Join(s.answered, "\n\n"), strings.Join(work, "\n\n")}
	*s = sorter{}
	return e
}

// String returns the step as a part of a question. Texts that the user has not written are quoted.
func (x step) String() string {
	switch x.role {
	case roleUser:
		return x.text
	case roleAssistant:
		return "The assistant said:\n" + quoted(x.text)
	}
	name := "A tool"
	if x.call.Function.Name != "" {
		name = fmt.Sprintf("The tool %s with %s", shortened(x.call.Function.Name), contextbuild.Clean(strings.ReplaceAll(cmp.Or(x.call.Function.Arguments, "{}"), "\n", " ")))
	}
	if !x.hasResult {
		return name + " was called, and gave no result."
	}
	return name + " gave this result:\n" + quoted(x.result)
}

// quoted returns a text with a mark before each line, so that nothing in it looks like a text of the user.
func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }
