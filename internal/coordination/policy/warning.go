package policy

import "fmt"

// Warning says how near a conversation is to what a model can read.
type Warning string

// The warnings of seed 000.
const (
	NoWarning        Warning = ""
	ApproachingLimit Warning = "approaching_limit"
	AtLimit          Warning = "at_limit"
)

// Threshold is from where on people are warned: a share of the context window, or
// a number of tokens or of messages. Those that are 0 do not count.
type Threshold struct {
	Percent          float64
	Tokens, Messages int
}

// Thresholds are the two from which on there is a warning.
type Thresholds struct{ Approaching, Limit Threshold }

// Use is what a conversation takes.
type Use struct {
	// Tokens is how many the input of a call has, or is estimated to have, and Window
	// how many the model can read; 0 if that is not known.
	Tokens, Window int
	// Messages is how many the conversation has, shown or not.
	Messages int
	// NoRoom says that something is left out which would not fit.
	NoRoom bool
}

// Warning returns what is to be said of a use. What has no room is at the limit,
// whatever the numbers.
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
	return t.Percent > 0 && u.Window > 0 && float64(u.Tokens)*100 >= t.Percent*float64(u.Window) ||
		t.Tokens > 0 && u.Tokens >= t.Tokens ||
		t.Messages > 0 && u.Messages >= t.Messages
}

// String is the threshold as a configuration has it.
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
