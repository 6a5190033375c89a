package contextbuild

import (
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/policy"
)

// Counter counts the tokens of a message with the marks around it, as package
// tokens does.
type Counter func(backends.Message) int

// Measure returns the sizes of a turn, or a summary, in the form with more tokens, each text
// cut at cut characters; 0 cuts none. The results in its messages follow their calls, as
// backends.Repair puts them.
func Measure(e Exchange, cut int, count Counter) policy.Turn {
	t := policy.Turn{Number: e.Turn}
	for _, m := range measured(cutExchange(e, cut)) {
		size := policy.Unit{Messages: 1, Tokens: count(m)}
		if last := len(t.Units) - 1; m.Role == backends.RoleTool && last >= 0 {
			t.Units[last].Messages += size.Messages
			t.Units[last].Tokens += size.Tokens
			continue
		}
		t.Units = append(t.Units, size)
	}
	return t
}

// measured returns the messages of an exchange with the text that the history puts around them.
func measured(e Exchange) []backends.Message {
	switch {
	case e.isSummary():
		return []backends.Message{
			backends.User(fillTurns(summaryQuestion, e)),
			backends.Assistant(assistantLine + " " + fillTurns(summaryAnswer, e) + escapeHistory(e.Answer)),
		}
	case e.isListed():
		return e.Messages
	}
	var messages []backends.Message
	role := backends.User
	if e.QuestionLeftOut {
		role = backends.Assistant
	}
	for _, line := range historyLines(e) {
		messages = append(messages, role(line))
		role = backends.Assistant
	}
	return messages
}

// Select returns the part of a history that a selection shows, oldest turn first: the history
// itself if that is everything. history needs at least its last s.Turns turns. summary is the
// one that s names, and unused if it names none.
func Select(history []Exchange, summary Exchange, s policy.Selection) []Exchange {
	if s.Everything() {
		return history
	}
	var shown []Exchange
	if s.Summary != nil {
		shown = append(shown, summary)
	}
	left := s.Messages
	turns := history[max(0, len(history)-s.Turns):]
	for _, e := range slices.Backward(turns) {
		left -= messageCount(e)
	}
	for _, e := range turns {
		if left < 0 { // the oldest is shown in part
			e = withoutFirst(e, -left)
			left = 0
		}
		shown = append(shown, cutExchange(e, s.Cut))
	}
	return shown
}

func messageCount(e Exchange) int {
	switch {
	case e.isListed():
		return len(e.Messages)
	case e.QuestionLeftOut || e.isSummary():
		return 1
	}
	return 2
}

// withoutFirst omits the first n messages of a turn, but never all of them.
func withoutFirst(e Exchange, n int) Exchange {
	e.Question, e.QuestionLeftOut = "", true
	e.Messages = e.Messages[min(n, len(e.Messages)):]
	return e
}

// SelectMessages applies a policy to a client's conversation, a list of messages in the form of
// backends.Repair, and returns the selected part, in which each call still has its results.
// room is as for policy.NewPicker. It makes no summary.
func SelectMessages(messages []backends.Message, s policy.Settings, room int, count Counter) ([]backends.Message, policy.Selection) {
	var system []backends.Message
	if s.KeepSystem {
		for _, m := range messages {
			if m.Role == backends.RoleSystem {
				system = append(system, m)
				room -= count(m)
			}
		}
	}
	turns := turnsOf(messages, s.KeepSystem)
	p := policy.NewPicker(s, room, policy.Summary{})
	for _, e := range slices.Backward(turns) {
		if !p.Add(Measure(e, s.Cut(), count)) {
			break
		}
	}
	selection := p.Selection()
	selection.KeepSystem = s.KeepSystem
	if selection.Everything() {
		return messages, selection
	}
	for _, e := range Select(turns, Exchange{}, selection) {
		system = append(system, e.Messages...)
	}
	return system, selection
}

// turnsOf parts a conversation before each question.
func turnsOf(messages []backends.Message, withoutSystem bool) []Exchange {
	var turns []Exchange
	for _, m := range messages {
		if withoutSystem && m.Role == backends.RoleSystem {
			continue
		}
		if len(turns) == 0 || m.Role == backends.RoleUser {
			turns = append(turns, Exchange{Turn: len(turns) + 1})
		}
		last := &turns[len(turns)-1]
		last.Messages = append(last.Messages, m)
	}
	return turns
}

// cutMark replaces the rest of a cut text (seed 002).
const cutMark = "..."

// cutExchange cuts the texts of an exchange: messages and tool results. Arguments of tools stay
// whole, since half of them is no JSON.
func cutExchange(e Exchange, most int) Exchange {
	if most == 0 {
		return e
	}
	e.Question, e.Answer = cut(e.Question, most), cut(e.Answer, most)
	e.Messages = slices.Clone(e.Messages)
	for i, m := range e.Messages {
		parts := slices.Clone(m.Parts)
		for j, p := range parts {
			switch p := p.(type) {
			case backends.Text:
				parts[j] = backends.Text{Text: cut(p.Text, most)}
			case backends.ToolResult:
				p.Content = cut(p.Content, most)
				parts[j] = p
			}
		}
		e.Messages[i].Parts = parts
	}
	return e
}

// cut shortens a text of more than most characters. Cutting twice changes nothing.
func cut(text string, most int) string {
	count := 0
	for i := range text {
		if count == most {
			return text[:i] + cutMark
		}
		count++
	}
	return text
}
