package server

import "strings"

// mask hides secrets in a text that comes in pieces: a word is held back until it is whole.
type mask struct {
	redact func(text string) string
	held   string
}

// longestWord is how many bytes are held back at most.
const longestWord = 4 << 10

// add returns what has become whole.
func (m *mask) add(text string) string {
	m.held += text
	isWord := func(r rune) bool { return r > ' ' && r <= '~' }
	whole := len(strings.TrimRightFunc(m.held, isWord))
	if len(m.held)-whole > longestWord {
		whole = len(m.held)
	}
	out := m.held[:whole]
	m.held = m.held[whole:]
	return m.redact(out)
}

// rest returns what is held back.
func (m *mask) rest() string {
	out := m.held
	m.held = ""
	return m.redact(out)
}
