package policy

import "fmt"

// Warning tells how near a conversation is to the end of a model's context window.
type Warning string

// The warnings of seed 000.
const (
	NoWarning        Warning = ""
	ApproachingLimit Warning = "approaching_limit"
	AtLimit          Warning = "at_limit"
)

// Threshold is the size at which a warning begins: a share of the largest input that
// would still be sent, or a number of tokens or messages. Fields that are 0 do not count.
type Threshold struct {
	Percent          float64
	Tokens, Messages int
}

// Thresholds are the thresholds of the two warnings.
type Thresholds struct{ Approaching, Limit Threshold }

// Use is the size of a conversation.
type Use struct {
	// Tokens is the counted or estimated size of a call's input, and Limit the size of the
	// largest input that would still be sent whole, 0 if unknown.
	Tokens, Limit int
	// Messages counts the messages of the conversation, shown or not.
	Messages int
	// NoRoom reports whether a part is left out because it would not fit.
	NoRoom bool
}

// Warning returns the warning about a use. NoRoom means AtLimit, whatever the numbers.
func (t Thresholds) Warning(u Use) Warning {
	switch {
	case u.NoRoom || t.Limit.reached(u):
		return AtLimit
	case t.Approaching.reached(u):
		return ApproachingLimit
	}
	return NoWarning
}

func (t Threshold) reached(u Use) bool {
	return t.Percent > 0 && u.Limit > 0 && float64(u.Tokens)*100 >= t.Percent*float64(u.Limit) ||
		t.Tokens > 0 && u.Tokens >= t.Tokens ||
		t.Messages > 0 && u.Messages >= t.Messages
}

// String returns the threshold as it is written in a configuration.
func (t Threshold) String() string {
	switch {
	case t.Percent != 0:
		return fmt.Sprintf("%v%%", t.Percent)
	case t.Tokens != 0:
		return fmt.Sprintf("%d tokens", t.Tokens)
	case t.Messages != 0:
		return fmt.Sprintf("%d messages", t.Messages)
	}
	return "never"
}
