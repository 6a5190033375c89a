// Package contextbuild builds the inputs of models: the system and the user message of a
// coordination step, from scratch each time, and the fixed texts that a step adds. All of it is
// pure, and safe for concurrent use.
//
// The messages have the form of seed 003, to the character (DESIGN §5). Texts of people
// and models cannot forge that form, and can be recovered exactly from a built message.
package contextbuild

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/massgen/massgen/backends"
)

// Exchange is one turn of the history: the question and the winning answer. If
// LastTurn is above 0 it is a summary instead: Answer covers the turns FirstTurn
// to LastTurn, and Question is empty.
type Exchange struct {
	// Turn is the turn's number in its session, 0 where it does not matter.
	Turn     int    `json:"turn,omitempty"`
	Question string `json:"question,omitempty"`
	Answer   string `json:"answer"`
	// QuestionLeftOut leaves the question out: only the part of the turn after it is shown.
	QuestionLeftOut bool `json:"question_left_out,omitempty"`
	// Messages are the messages of a panel of one in the turn, from the question to the answer
	// with the tools' calls and results between them; empty if the question and the answer are
	// all. Only Solo shows them, unchanged. The history of a larger panel has none.
	Messages  []backends.Message `json:"messages,omitempty"`
	FirstTurn int                `json:"first_turn,omitempty"`
	LastTurn  int                `json:"last_turn,omitempty"`
}

func (e Exchange) isSummary() bool { return e.LastTurn > 0 }

// isListed reports whether there is more than the question and the answer.
func (e Exchange) isListed() bool { return len(e.Messages) > 0 }

// Answer is the current answer of the agent with the config id Agent.
type Answer struct {
	Agent   string `json:"agent"`
	Content string `json:"content"`
	// Check is the outcome of the answer's check, which is shown in a line of its own; nil for none.
	Check *CheckOutcome `json:"check,omitempty"`
}

// CheckOutcome is the outcome of a check: its exit status, 0 for an answer that passed, and its output.
type CheckOutcome struct {
	Exit   int    `json:"exit"`
	Output string `json:"output"`
}

// Input has everything that a step's messages are built from. Texts need not be cleaned before.
type Input struct {
	// SystemMessage is the agent's own, from the config. Only this text is not escaped.
	SystemMessage string
	// History holds the turns before this one, oldest first. Lines are its HistoryLines, nil if
	// they are not made yet.
	History []Exchange
	Lines   []string
	// Conversation is the conversation that Solo continues instead of a history: its messages
	// are sent unchanged.
	Conversation []backends.Message
	Question     string
	// Notes are the user's additions to the question, oldest first.
	Notes []string
	// Participants holds the config ids of the whole panel, in any order.
	Participants []string
	// Answers has the current answers in the order to show, which is the config's. Their agents
	// are among the participants.
	Answers []Answer
	// Guidance stands after the coordination text of a step that answers or votes; empty for none.
	Guidance string
	// Sections are further parts of the system message (topic, memory), after the coordination
	// text. An empty one is omitted.
	Sections []string
}

// Messages is a built step: the texts of its system and its user message.
type Messages struct{ System, User string }

// System returns the system message of a coordination step (DESIGN §5).
func (in Input) System() string {
	in.Sections = append([]string{in.Guidance}, in.Sections...)
	return systemMessage(in, coordinationPrompt)
}

// User returns the user message of a coordination step. It is the same for all agents with the
// same history, question, notes and answers. It panics if the agent of an answer is no
// participant.
func (in Input) User() string { return joinSections(questionSections(in)...) }

// Build returns both messages. Equal inputs give equal bytes.
func Build(in Input) Messages { return Messages{System: in.System(), User: in.User()} }

// Solo returns the messages of a panel of one, an ordinary conversation without any
// coordination text (DESIGN §4 rule 1): the agent's own system message with the sections, if
// there are any, the history or conversation, and the question, which may be empty after a
// conversation. Some providers want the roles to alternate. So a summary stands as the answer
// to a request for it, a history that would begin with an answer begins with a line that says
// what is left out, and notes stand at the end of the last message. Solo ignores Participants
// and Answers.
func Solo(in Input) []backends.Message {
	messages := make([]backends.Message, 0, 2*len(in.History)+len(in.Conversation)+2)
	if system := joinSections(append([]string{ownMessage(in)}, furtherSections(in)...)...); system != "" {
		messages = append(messages, backends.System(system))
	}
	messages = append(appendHistory(messages, in.History), in.Conversation...)
	if in.Question != "" || len(in.Conversation) == 0 {
		messages = append(messages, backends.User(Clean(in.Question)))
	}
	return withNotes(messages, in.Notes)
}

// appendHistory appends a history to messages, which are of the system alone.
func appendHistory(messages []backends.Message, history []Exchange) []backends.Message {
	for _, e := range history {
		messages = appendExchange(messages, e)
	}
	return MarkLeftOut(messages)
}

// MarkLeftOut returns messages whose earlier ones are left out. If they would begin with an
// answer, not counting system messages, it adds a line before that: some providers want the
// roles to alternate.
func MarkLeftOut(messages []backends.Message) []backends.Message {
	first := slices.IndexFunc(messages, func(m backends.Message) bool { return m.Role != backends.RoleSystem })
	if first < 0 || messages[first].Role != backends.RoleAssistant {
		return messages
	}
	return slices.Insert(slices.Clone(messages), first, backends.User(leftOut))
}

// SoloMessages returns the messages of one turn, or summary, in Solo's history.
func SoloMessages(e Exchange) []backends.Message { return appendExchange(nil, e) }

func appendExchange(messages []backends.Message, e Exchange) []backends.Message {
	question, answer := e.Question, e.Answer
	switch {
	case e.isSummary():
		question, answer = fillTurns(summaryQuestion, e), fillTurns(summaryAnswer, e)+e.Answer
	case e.isListed():
		return append(messages, e.Messages...)
	case e.QuestionLeftOut:
		return append(messages, backends.Assistant(Clean(answer)))
	}
	return append(messages, backends.User(Clean(question)), backends.Assistant(Clean(answer)))
}

// systemMessage puts prompt between the agent's own message and the sections.
func systemMessage(in Input, prompt string) string {
	if len(in.History) > 0 {
		prompt += "\n" + noteIndent + "\n" + contextNote
	}
	return joinSections(append([]string{ownMessage(in), prompt}, furtherSections(in)...)...)
}

func ownMessage(in Input) string {
	return strings.TrimRightFunc(Clean(in.SystemMessage), unicode.IsSpace)
}

func furtherSections(in Input) []string {
	var sections []string
	for _, s := range in.Sections {
		if s != "" {
			sections = append(sections, escapeSection(s))
		}
	}
	return sections
}

// joinSections parts the sections that are not empty by a blank line.
func joinSections(sections ...string) string {
	var present []string
	for _, s := range sections {
		if s != "" {
			present = append(present, s)
		}
	}
	return strings.Join(present, "\n\n")
}

// The delimiters of the user message, besides the tags of each agent. delimiterNames must have
// the name of each.
const (
	historyOpen   = "<CONVERSATION_HISTORY>"
	historyClose  = "<END OF CONVERSATION_HISTORY>"
	questionOpen  = "<ORIGINAL MESSAGE>"
	questionClose = "<END OF ORIGINAL MESSAGE>"
	answersOpen   = "<CURRENT ANSWERS from the agents>"
	answersClose  = "<END OF CURRENT ANSWERS>"
	votesOpen     = "<VOTES of the agents>"
	votesClose    = "<END OF VOTES>"
	noteOpen      = "<NOTE from the user>"
	noteClose     = "<END OF NOTE>"
	fileOpen      = "<ATTACHED FILE>"
	fileClose     = "<END OF ATTACHED FILE>"
)

// The beginnings of the history's lines.
const (
	userLine      = "User:"
	assistantLine = "Assistant:"
)

// questionSections returns the history, empty in the first turn, the question with its notes,
// if any, and the current answers.
func questionSections(in Input) []string {
	lines := in.Lines
	if lines == nil {
		lines = HistoryLines(in.History)
	}
	return []string{
		historySection(lines),
		questionOpen + " " + escape(in.Question) + " " + questionClose,
		noteLines(in.Notes),
		answersSection(newPanel(in.Participants), in.Answers),
	}
}

// HistorySection returns the section of the user message with the earlier turns, oldest first,
// as a panel reads them; it is empty without any.
func HistorySection(history []Exchange) string { return historySection(HistoryLines(history)) }

func historySection(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(slices.Concat([]string{historyOpen}, lines, []string{historyClose}), "\n")
}

// HistoryLines returns the lines of each turn, or summary, in that section. Only a line break
// stands between two turns.
func HistoryLines(history []Exchange) []string {
	turns := make([]string, len(history))
	for i, e := range history {
		turns[i] = strings.Join(historyLines(e), "\n")
	}
	return turns
}

func historyLines(e Exchange) []string {
	answer := escapeHistory(e.Answer)
	switch {
	case e.isSummary():
		return []string{assistantLine + " " + fillTurns(summaryAnswer, e) + answer}
	case e.QuestionLeftOut:
		return []string{assistantLine + " " + indentSummary(answer)}
	}
	return []string{userLine + " " + escapeHistory(e.Question), assistantLine + " " + answer}
}

func answersSection(p panel, answers []Answer) string {
	lines := []string{answersOpen}
	for _, a := range answers {
		lines = append(lines, p.tagged(a.Agent, escape(a.Content)))
		if a.Check != nil {
			lines = append(lines, a.Check.line(p.name(a.Agent)))
		}
	}
	if len(answers) == 0 {
		lines = append(lines, "(no answers available yet)")
	}
	return strings.Join(append(lines, answersClose), "\n")
}

// fillTurns puts the turns that a summary covers into a prompt.
func fillTurns(prompt string, e Exchange) string {
	return strings.NewReplacer(
		"{first}", strconv.Itoa(e.FirstTurn),
		"{last}", strconv.Itoa(e.LastTurn),
	).Replace(prompt)
}
