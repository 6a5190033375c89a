package server

import (
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
			if !isBlank || len(m.files) > 0 {
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

// step is a part of an exchange before its answer.
type step struct {
	// isWork reports that the step belongs to a turn of this server.
	isWork bool
	// call is the id of the step's call, empty for a text.
	call string
	contextbuild.ForeignStep
}

func (s *sorter) isEmpty() bool { return len(s.steps)+len(s.answered) == 0 }

// isAnswered reports whether the exchange ends with the assistant: with an answer, or with calls.
func (s *sorter) isAnswered() bool { return len(s.answered) > 0 || s.isCalling }

// ask adds a text of the user. After a call of this server's turn, the text belongs to that turn.
func (s *sorter) ask(text string) {
	isWork := slices.ContainsFunc(s.steps, func(x step) bool { return x.isWork })
	s.steps = append(s.steps, step{isWork: isWork, ForeignStep: contextbuild.ForeignStep{Role: roleUser, Text: text}})
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
		s.steps = append(s.steps, step{isWork: isWork, ForeignStep: contextbuild.ForeignStep{Role: roleAssistant, Text: text}})
	}
	s.answered, s.isCalling = nil, true
	for _, c := range m.calls {
		s.steps = append(s.steps, step{isWork: isWork, call: c.ID, ForeignStep: contextbuild.ForeignStep{
			Role: roleTool, Tool: shortened(c.Function.Name), Arguments: c.Function.Arguments,
		}})
	}
}

// result adds the result of the first call with its id that has none. Some clients use an id again.
func (s *sorter) result(m message) {
	i := slices.IndexFunc(s.steps, func(x step) bool { return x.Role == roleTool && !x.HasResult && x.call == m.answers })
	if i < 0 {
		_, isWork := turnOfCall(m.answers)
		s.steps = append(s.steps, step{isWork: isWork, ForeignStep: contextbuild.ForeignStep{Role: roleTool}})
		i = len(s.steps) - 1
	}
	s.isCalling = false
	s.steps[i].Text, s.steps[i].HasResult = m.text, true
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
		question = []string{contextbuild.ForeignStep{Role: roleAssistant}.String()} // the assistant began
	}
	e := exchange{strings.Join(question, "\n\n"), strings.Join(s.answered, "\n\n"), strings.Join(work, "\n\n")}
	*s = sorter{}
	return e
}
