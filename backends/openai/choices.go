package openai

import (
	"maps"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/models/finish"
)

// otherChoices are the choices of an answer beside choice 0. massgen never asks for more than one, so they hold
// parts of the same message: the proxies of Copilot and Claude send the text in choice 0 and the calls in choice 1.
// Calls of all choices count. Their texts count only if choice 0 has none.
type otherChoices struct {
	// ignored is set where the request itself asks for several answers.
	ignored bool
	said    map[int]*otherChoice
	// hasText and hasReasoning report whether the message has these already.
	hasText, hasReasoning bool
	// open reports whether a call of these choices waits for the finish reason of its choice.
	open bool
	// endedBy is the choice whose finish reason counts.
	endedBy int
}

type otherChoice struct{ reasoning, text strings.Builder }

// hold keeps the texts of a choice until the answer ends.
func (o *otherChoices) hold(index int, reasoning, text string) {
	if reasoning == "" && text == "" {
		return
	}
	if o.said == nil {
		o.said = map[int]*otherChoice{}
	}
	if o.said[index] == nil {
		o.said[index] = &otherChoice{}
	}
	o.said[index].reasoning.WriteString(reasoning)
	o.said[index].text.WriteString(text)
}

// first returns the first reasoning and the first text of these choices, each only if the message has none.
func (o *otherChoices) first() (reasoning, text string) {
	for _, index := range slices.Sorted(maps.Keys(o.said)) {
		if reasoning == "" && !o.hasReasoning {
			reasoning = o.said[index].reasoning.String()
		}
		if text == "" && !o.hasText {
			text = o.said[index].text.String()
		}
	}
	return reasoning, text
}

// end returns the finish reason of the answer after a choice has ended. A choice that was cut or withheld
// decides about the message.
func (o *otherChoices) end(index int, before, reason string) string {
	o.open = false
	if before != "" && index != o.endedBy && finish.Of(before) != finish.Whole {
		return before
	}
	o.endedBy = index
	return reason
}
