package policy

import (
	"fmt"
	"strings"
)

// Selection is the part of a history that a turn shows. It is journaled with the
// turn, so that an input can be rebuilt to the byte.
type Selection struct {
	Kind Kind `json:"policy"`
	// Turns and Messages count the shown turns and messages, from the end. The first
	// messages of the oldest turn may be missing.
	Turns    int `json:"turns"`
	Messages int `json:"messages"`
	// FirstTurn is the number of the oldest shown turn, 0 if no turn is shown.
	FirstTurn int `json:"first_turn,omitempty"`
	// Cut is the most characters of each text; 0 means no limit.
	Cut int `json:"cut,omitempty"`
	// KeepSystem reports whether the system messages in a conversation that a client gave
	// stand first, and are not among Messages.
	KeepSystem bool `json:"keep_system,omitempty"`
	// Summary is the range of turns that a summary replaces, before the others.
	Summary *Range `json:"summary,omitempty"`
	// LeftOut reports whether older messages are neither shown nor summarized, and NoRoom
	// whether they would not fit.
	LeftOut bool `json:"left_out,omitempty"`
	NoRoom  bool `json:"no_room,omitempty"`
	// Tokens is the counted size of all of this.
	Tokens int `json:"tokens"`
}

// Everything reports whether the whole history is shown unchanged.
func (s Selection) Everything() bool {
	return !s.LeftOut && s.Summary == nil && (s.Cut == 0 || s.Messages == 0)
}

// String describes the selection for people in one line. It is empty for Everything.
func (s Selection) String() string {
	if s.Everything() {
		return ""
	}
	var shown []string
	if s.Summary != nil {
		shown = append(shown, fmt.Sprintf("a summary of turns %d to %d", s.Summary.First, s.Summary.Last))
	}
	if s.Messages > 0 || s.Summary == nil {
		shown = append(shown, s.messages())
	}
	rest := "what is older"
	if s.Summary != nil {
		rest = fmt.Sprintf("the rest after turn %d", s.Summary.Last)
	}
	text := fmt.Sprintf("%s: shown %s", s.Kind, strings.Join(shown, " and "))
	switch {
	case s.NoRoom:
		text += "; " + rest + " would not fit and is left out"
	case s.LeftOut:
		text += "; " + rest + " is left out"
	}
	return text
}

func (s Selection) messages() string {
	text := "none of the messages"
	switch s.Messages {
	case 0:
		return text
	case 1:
		text = "the last message"
	default:
		text = fmt.Sprintf("the last %d messages", s.Messages)
	}
	if s.FirstTurn > 0 {
		text += fmt.Sprintf(", from turn %d on", s.FirstTurn)
	}
	if s.Cut > 0 {
		text += fmt.Sprintf(", each of %d characters at most", s.Cut)
	}
	return text
}
