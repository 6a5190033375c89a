package contextbuild

import (
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/plain"
	"github.com/massgen/massgen/internal/policy"
)

// StepLeftOut is the line that stands in the place of messages and results of tools
// that are left out of a step, with the summary of them if there is one.
func StepLeftOut(messages, results int, summary string) string {
	line := strings.ReplaceAll(stepLeftOut, "{what}", CountLeftOut(messages, results))
	if summary == "" {
		return line
	}
	return joinSections(line, strings.ReplaceAll(stepSummary, "{summary}", EscapeNotes(Clean(summary))))
}

// CountLeftOut says how many messages and results of tools were, for people and
// models.
func CountLeftOut(messages, results int) string {
	text := plain.Count(messages, "earlier message")
	if results > 0 {
		text += " and " + plain.Count(results, "tool result")
	}
	if messages+results == 1 {
		return text + " was"
	}
	return text + " were"
}

// SelectStep returns what limits leave of the messages of a step, in the form of
// backends.Repair, with a line in the place of the others, and how many messages and
// results of tools these are. The messages before the first of the assistant are always
// sent.
func SelectStep(messages []backends.Message, limits policy.StepLimits) (kept []backends.Message, leftOut, results int) {
	var units []policy.StepUnit
	var starts []int
	for i, m := range messages {
		if m.Role == backends.RoleAssistant {
			units, starts = append(units, policy.StepUnit{}), append(starts, i)
		}
		if last := len(units) - 1; last >= 0 {
			units[last].Messages++
			units[last].Bytes += textBytes(m)
		}
	}
	cut := limits.Cut(units, 0).Units
	if cut == 0 {
		return messages, 0, 0
	}
	for _, m := range messages[starts[0]:starts[cut]] {
		if m.Role == backends.RoleTool {
			results += len(m.Parts)
		} else {
			leftOut++
		}
	}
	first := AddWord(messages[:starts[0]], StepLeftOut(leftOut, results, ""))
	return append(first, messages[starts[cut]:]...), leftOut, results
}

// textBytes is about how many bytes of a message are sent.
func textBytes(m backends.Message) int {
	sum := 0
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Text:
			sum += len(p.Text)
		case backends.ToolCall:
			sum += len(p.ID) + len(p.Name) + len(p.Arguments)
		case backends.ToolResult:
			sum += len(p.CallID) + len(p.Content)
		case backends.Opaque:
			sum += len(p.Data)
		}
	}
	return sum
}

// AddWord returns messages with a word at the end of the last, or in a message of the
// user's after one that a model wrote: so the roles alternate as they did, which some
// providers want, and a call is followed by its results. The messages given stay as they
// are.
func AddWord(messages []backends.Message, word string) []backends.Message {
	last := len(messages) - 1
	if last < 0 || messages[last].Role != backends.RoleUser && messages[last].Role != backends.RoleTool {
		return append(slices.Clip(messages), backends.User(word))
	}
	m := messages[last]
	m.Parts = slices.Clone(m.Parts)
	end := len(m.Parts) - 1
	if end < 0 {
		m.Parts = []backends.Part{backends.Text{Text: word}}
		return append(slices.Clip(messages[:last]), m)
	}
	switch p := m.Parts[end].(type) {
	case backends.Text:
		m.Parts[end] = backends.Text{Text: joinSections(p.Text, word)}
	case backends.ToolResult:
		p.Content = joinSections(p.Content, word)
		m.Parts[end] = p
	default:
		m.Parts = append(m.Parts, backends.Text{Text: word})
	}
	return append(slices.Clip(messages[:last]), m)
}
