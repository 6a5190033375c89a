package policy

import (
	"fmt"
	"strings"
)

// Selection is what of a history is shown in a turn. It is journaled with the
// turn, so that an input can be rebuilt to the byte.
type Selection struct {
	Kind Kind `json:"policy"`
	// Turns is how many turns from the end are shown, and Messages how many messages
	// from the end: of the oldest of the turns the first messages may be missing.
	Turns    int `json:"turns"`
	Messages int `json:"messages"`
	// FirstTurn is the number of the oldest of the turns, 0 if there is none.
	FirstTurn int `json:"first_turn,omitempty"`
	// Cut is at how many characters each text is cut; 0: not.
	Cut int `json:"cut,omitempty"`
	// KeepSystem says that the system messages in a conversation that a client gave
	// stand first, and are not among Messages.
	KeepSystem bool `json:"keep_system,omitempty"`
	// Summary are the turns that a summary stands for, before the others.
	Summary *Range `json:"summary,omitempty"`
	// LeftOut says that something older is neither shown nor summarized, and NoRoom
	// that it would not fit.
	LeftOut bool `json:"left_out,omitempty"`
	NoRoom  bool `json:"no_room,omitempty"`
	// Tokens is how many all of that has, as it was counted.
	Tokens int `json:"tokens"`
}

// Everything says that the whole history is shown as it is.
func (s Selection) Everything() bool {
	return !s.LeftOut && s.Summary == nil && (s.Cut == 0 || s.Messages == 0)
}

// String tells people what is shown and what is not, in a line; it is empty for
// Everything.
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
