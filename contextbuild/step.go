package contextbuild

import (
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/plain"
)

// StepLeftOut returns the line that replaces the omitted messages and tool results of a step,
// with their summary if there is one.
func StepLeftOut(messages, results int, summary string) string {
	line := strings.ReplaceAll(stepLeftOut, "{what}", CountLeftOut(messages, results))
	if summary == "" {
		return line
	}
	return joinSections(line, strings.ReplaceAll(stepSummary, "{summary}", EscapeNotes(Clean(summary))))
}

// CountLeftOut states the number of omitted messages and tool results, for people and models.
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

// SelectStep applies limits to the messages of a step, in the form of backends.Repair. It
// returns the rest with a line in place of the omitted ones, and the number of omitted messages
// and tool results. The messages before the first of the assistant are always sent.
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

// textBytes is about the size of a message in bytes.
func textBytes(m backends.Message) int {
	sum := 0
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Text:
			sum += len(p.Text)
		case backends.ToolCall:
			sum += len(p.ID) + len(p.Name) + len(p.Arguments)
		case backends.ToolResult:
			sum += len(p.CallID) + len(p.Content) + len(p.Files)*policy.BytesOfPicture
		case backends.Opaque:
			sum += len(p.Data)
		}
	}
	return sum
}

// AddWord returns messages with a text added to the end of the last, or as a new user message
// after one that a model wrote. So the roles alternate, which some providers want, and a call
// is followed by its results. It does not change the given messages.
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
