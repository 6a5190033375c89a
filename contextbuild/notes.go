package contextbuild

import (
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// The user's additions to the question while the turn ran are its notes (DESIGN §4 rule 11).
// They stand in blocks whose delimiters no text of a model or a tool can have.

// noteLines has a line for each note, oldest first; it is empty without any.
func noteLines(notes []string) string {
	lines := make([]string, len(notes))
	for i, note := range notes {
		lines[i] = noteOpen + " " + escape(note) + " " + noteClose
	}
	return strings.Join(lines, "\n")
}

// Notes returns the text with which a busy agent gets notes, oldest first; there is at least
// one. It goes where Update goes, or behind a reminder.
func Notes(notes []string) string { return joinSections(notesPrompt, noteLines(notes)) }

// withNotes returns the messages of a panel of one with the notes from before they were sent.
// They stand in the user's last message, since some providers want the roles to alternate.
func withNotes(messages []backends.Message, notes []string) []backends.Message {
	if len(notes) == 0 {
		return messages
	}
	return AddWord(messages, noteLines(notes))
}

// EscapeNotes returns a tool's result without anything that could pass for a note. Every other
// text passes unchanged.
func EscapeNotes(text string) string { return escapeNamed(text, isNoteName) }

func isNoteName(name string) bool {
	name = withoutSpace(name)
	return slices.ContainsFunc(noteNames[:], func(n string) bool { return strings.EqualFold(n, name) })
}
