package debugbackend

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/backends"
)

// Names and marks of a coordination input (seed 003). They are the wire format:
// this package reads them as a model would, without the code that writes them.
const (
	toolNewAnswer = "new_answer"
	toolVote      = "vote"

	historyOpen   = "<CONVERSATION_HISTORY>\n"
	historyClose  = "\n<END OF CONVERSATION_HISTORY>"
	questionOpen  = "<ORIGINAL MESSAGE> "
	questionClose = " <END OF ORIGINAL MESSAGE>"
	answersOpen   = "<CURRENT ANSWERS from the agents>\n"
	answersClose  = "\n<END OF CURRENT ANSWERS>"
	contextAware  = "IMPORTANT: You are responding to the latest message in an ongoing conversation."
	fileClose     = "<END OF ATTACHED FILE>"
)

// shownAnswer is one of the current answers as an input shows it: ID is "agent2".
type shownAnswer struct {
	ID   string
	Text string
}

// sections is what an input shows of the conversation and of the coordination.
type sections struct {
	// coordination is true if the input has an ORIGINAL MESSAGE section. Without one it is an
	// ordinary conversation, and question is its last user message.
	coordination bool
	question     string
	// exchanges counts the questions that went before.
	exchanges  int
	hasAnswers bool
	answers    []shownAnswer
	// contextAware is true if the system message mentions an ongoing conversation.
	contextAware bool
}

// readSections finds the sections of the last coordination message, or else
// reads the messages as an ordinary conversation. Texts are as they stand in the
// message, with the escapes that were put into them.
func readSections(messages []backends.Message) sections {
	var s sections
	users := 0
	for _, m := range messages {
		text := m.Text()
		switch m.Role {
		case backends.RoleSystem:
			s.contextAware = s.contextAware || strings.Contains(text, contextAware)
		case backends.RoleUser:
			users++
			s.readUser(text)
		}
	}
	if !s.coordination {
		s.exchanges = max(users-1, 0)
	}
	return s
}

func (s *sections) readUser(text string) {
	question, found := between(text, questionOpen, questionClose)
	if !found {
		if !s.coordination {
			s.question = text
			if i := strings.LastIndex(text, fileClose); i >= 0 { // files stand before the question
				s.question = strings.TrimLeft(text[i+len(fileClose):], "\n")
			}
		}
		return
	}
	s.coordination, s.question = true, question
	history, _ := between(text, historyOpen, historyClose)
	s.exchanges = strings.Count("\n"+history, "\nUser: ")
	var answers string
	answers, s.hasAnswers = between(text, answersOpen, answersClose)
	s.answers = readAnswers(answers)
}

func readAnswers(text string) []shownAnswer {
	var answers []shownAnswer
	for {
		_, rest, found := strings.Cut(text, "<agent")
		if !found {
			return answers
		}
		number, rest, _ := strings.Cut(rest, "> ")
		body, after, closed := strings.Cut(rest, " <end of agent"+number+">")
		if _, err := strconv.Atoi(number); err != nil || !closed {
			text = rest
			continue
		}
		answers = append(answers, shownAnswer{"agent" + number, body})
		text = after
	}
}

func between(text, open, end string) (string, bool) {
	_, rest, found := strings.Cut(text, open)
	if !found {
		return "", false
	}
	inner, _, found := strings.Cut(rest, end)
	return inner, found
}

// messageText returns the texts and the tool results of a message.
func messageText(m backends.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Text:
			b.WriteString(p.Text)
		case backends.ToolResult:
			b.WriteString(p.Content)
		}
	}
	return b.String()
}

// offers reports whether a request offers a tool, or an act with that name in the schema of the reply.
func offers(req backends.Request, name string) bool {
	named := func(t backends.Tool) bool { return t.Name == name }
	return slices.ContainsFunc(req.Tools, named) || bytes.Contains(req.Schema, []byte(`"`+name+`"`))
}
