package policy

import (
	"errors"
	"fmt"
)

// Kind names a policy.
type Kind string

// The policies. Each of them leaves out the oldest messages that do not fit a model's
// context window, since a call that is too long would fail.
const (
	// Full shows all turns, or the newest that fit.
	Full Kind = "full"
	// Window shows the last few messages, each cut to a length (seed 002).
	Window Kind = "window"
	// Prune shows all messages up to a number, and beyond that only the last few
	// (seed 000).
	Prune Kind = "prune"
	// Summarize shows a summary of the older turns and the newer ones unchanged.
	Summarize Kind = "summarize"
)

// Settings are a policy with its numbers. The numbers of other policies than Kind
// have no effect.
type Settings struct {
	Kind Kind
	// Prune and Summarize show up to MaxMessages messages, and beyond that the last
	// KeepRecent. Summarize keeps whole turns.
	MaxMessages, KeepRecent int
	// KeepSystem keeps the system messages of a client's conversation, whatever else is
	// left out. An agent's own system message is always sent: it is not part of the
	// history.
	KeepSystem bool
	// Window shows the last WindowShown of the last WindowMessages messages, each cut
	// at WindowCharacters characters; 0 means no limit.
	WindowMessages, WindowShown, WindowCharacters int
	WarnAt                                        Thresholds
	// Carry is what an agent of a panel is shown of its own work in earlier rounds and turns, beside
	// the history.
	Carry Carry
}

// Carry names a part of an agent's own work.
type Carry string

// CarryNone builds each input from the history and the answers alone (seed 003). CarryTools adds the agent's
// tool calls with their results.
const (
	CarryNone  Carry = "none"
	CarryTools Carry = "tools"
)

// mostCarried is the most bytes of tool calls and results that an input carries.
const mostCarried = 64 << 10

// CarriedBytes returns the most bytes that the inputs for a model with such a window carry: at most an eighth of
// the window. A window of 0 is unknown.
func CarriedBytes(window, bytesPerToken int) int {
	if window <= 0 {
		return mostCarried
	}
	return min(mostCarried, window/8*bytesPerToken)
}

// Defaults returns Full, with the numbers of seeds 000 and 002 for the others.
func Defaults() Settings {
	return Settings{
		Kind: Full, Carry: CarryNone,
		MaxMessages: 50, KeepRecent: 10, KeepSystem: true,
		WindowMessages: 6, WindowShown: 3, WindowCharacters: 200,
		WarnAt: Thresholds{Approaching: Threshold{Percent: 80}, Limit: Threshold{Percent: 95}},
	}
}

// Validate returns an error for wrong settings. It names them as a configuration does.
func (s Settings) Validate() error {
	switch s.Kind {
	case Full, Window, Prune, Summarize:
	default:
		return fmt.Errorf("the policy %q is none of %s, %s, %s and %s", s.Kind, Full, Window, Prune, Summarize)
	}
	if s.Carry != "" && s.Carry != CarryNone && s.Carry != CarryTools {
		return fmt.Errorf("carry is %q, and it is %s or %s", s.Carry, CarryNone, CarryTools)
	}
	for _, n := range []int{s.MaxMessages, s.KeepRecent, s.WindowMessages, s.WindowShown, s.WindowCharacters} {
		if n < 0 {
			return fmt.Errorf("%d messages or characters are less than none", n)
		}
	}
	if s.KeepRecent > s.MaxMessages {
		return fmt.Errorf("keep_recent is %d and max_messages %d: more would be kept than there may be; lower keep_recent", s.KeepRecent, s.MaxMessages)
	}
	if s.WindowShown > s.WindowMessages {
		return fmt.Errorf("window.shown is %d and window.messages %d: more would be shown than there are; lower window.shown", s.WindowShown, s.WindowMessages)
	}
	return s.WarnAt.validate()
}

// ShowsLast reports whether the policy shows the last messages of a history that fits.
func (s Settings) ShowsLast() bool { return s.most() > 0 }

// Cut returns the most characters of each text, 0 for no limit.
func (s Settings) Cut() int {
	if s.Kind == Window {
		return s.WindowCharacters
	}
	return 0
}

// most returns the most messages that the policy looks at.
func (s Settings) most() int {
	switch s.Kind {
	case Window:
		return min(s.WindowShown, s.WindowMessages)
	case Prune, Summarize:
		return s.MaxMessages
	}
	return noLimit
}

func (t Thresholds) validate() error {
	for _, h := range []Threshold{t.Approaching, t.Limit} {
		if h.Percent < 0 || h.Percent > 100 || h.Tokens < 0 || h.Messages < 0 {
			return fmt.Errorf("a warning at %s cannot be", h)
		}
	}
	a, l := t.Approaching, t.Limit
	if l.Percent > 0 && a.Percent > l.Percent || l.Tokens > 0 && a.Tokens > l.Tokens || l.Messages > 0 && a.Messages > l.Messages {
		return errors.New("warn_at.approaching_limit comes after warn_at.at_limit; lower it")
	}
	return nil
}
