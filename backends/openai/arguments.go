package openai

import (
	"encoding/json"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// maxLiteral is the length of the longest number or word that counts as a whole
// value.
const maxLiteral = 32

// argumentsText is the text of a call's arguments, as it grows. It follows strings
// and brackets, so that to ask after each piece whether it is a whole JSON value
// does not read all of it again.
type argumentsText struct {
	text    strings.Builder
	nesting plain.Nesting
	// closed reports whether the bracket or string with which the text began has ended, and
	// valid whether the text until there is JSON.
	closed, valid bool
	// told is how many bytes piece has read, and begun is the beginning of a character at their end.
	told  int
	begun charJoiner
}

// piece returns the event of the text that came since the last call of piece. A call without a name, whose tool
// nobody knows yet, has none.
func (a *argumentsText) piece(index int, name string) []backends.Event {
	if name == "" {
		return nil
	}
	text := a.begun.join(a.text.String()[a.told:])
	a.told = a.text.Len()
	if text == "" {
		return nil
	}
	return []backends.Event{backends.ToolCallDelta{Index: index, Name: name, Text: text}}
}

func (a *argumentsText) write(piece string) {
	start := a.text.Len()
	a.text.WriteString(piece)
	for i := range len(piece) {
		if a.closed {
			a.valid = a.valid && isSpace(piece[i])
			continue
		}
		if a.nesting.Closes(piece[i]) {
			a.closed = true
			a.valid = json.Valid([]byte(a.text.String()[:start+i+1]))
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// complete reports whether the text is a whole JSON value.
func (a *argumentsText) complete() bool {
	if a.closed {
		return a.valid
	}
	return a.text.Len() <= maxLiteral && json.Valid([]byte(a.text.String()))
}
