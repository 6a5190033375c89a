package openai

import (
	"path"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// alternating returns messages in the order of roles that their model takes. Mistral's models refuse a user's
// message behind another one or behind the result of a tool, on every service (crush issue 279, goose issue
// 5998), so its text goes to the end of the message before it. Other models get the messages as they are.
func (e encoder) alternating(messages []backends.Message) []backends.Message {
	if !e.isMistral() {
		return messages
	}
	var list []backends.Message
	for _, m := range messages {
		if n := len(list); n > 0 && m.Role == backends.RoleUser && isOneText(m) {
			if joined, ok := withText(list[n-1], m.Text()); ok {
				list[n-1] = joined
				continue
			}
		}
		list = append(list, m)
	}
	return list
}

// isMistral reports whether the model checks the order of roles as Mistral's do.
func (e encoder) isMistral() bool {
	name := strings.ToLower(path.Base(e.model))
	families := []string{"mistral", "ministral", "mixtral", "devstral", "codestral", "magistral", "pixtral"}
	return e.dialect.NineLetterIDs || slices.ContainsFunc(families, func(f string) bool { return strings.Contains(name, f) })
}

func isOneText(m backends.Message) bool {
	if len(m.Parts) != 1 {
		return false
	}
	_, ok := m.Parts[0].(backends.Text)
	return ok
}

// withText adds a text to the end of a message of the user, or of the last result in a message of tools. ok is
// false for any other message, and for a result with pictures, which are sent behind it.
func withText(m backends.Message, text string) (joined backends.Message, ok bool) {
	last := len(m.Parts) - 1
	if last < 0 || m.Role != backends.RoleUser && m.Role != backends.RoleTool {
		return m, false
	}
	m.Parts = slices.Clone(m.Parts)
	switch p := m.Parts[last].(type) {
	case backends.Text:
		m.Parts[last] = backends.Text{Text: p.Text + "\n\n" + text}
	case backends.ToolResult:
		if len(p.Files) > 0 {
			return m, false
		}
		p.Content += "\n\n" + text
		m.Parts[last] = p
	default:
		return m, false
	}
	return m, true
}
