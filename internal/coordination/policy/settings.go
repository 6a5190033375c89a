package policy

import (
	"errors"
	"fmt"
)

// Kind names a policy.
type Kind string

// The policies. What does not fit a model's context window is left out under each
// of them, the oldest first, since a call that is too long would fail.
const (
	// Full shows all turns, and of more than fits the newest that do.
	Full Kind = "full"
	// Window shows the last few messages, each cut to a length (seed 002).
	Window Kind = "window"
	// Prune shows all messages up to a number of them, and of more the last few
	// (seed 000).
	Prune Kind = "prune"
	// Summarize shows a summary of the older turns and the newer ones as they are.
	Summarize Kind = "summarize"
)

// Settings are a policy with its numbers. The numbers of other policies than Kind
// have no effect.
type Settings struct {
	Kind Kind
	// MaxMessages is up to how many messages Prune and Summarize leave alone, and
	// KeepRecent how many of the last they keep of more. Summarize keeps whole turns.
	MaxMessages, KeepRecent int
	// KeepSystem keeps the system messages in a conversation that a client gave,
	// whatever else is left out of it. An agent's own system message is no part of the
	// history, and always sent.
	KeepSystem bool
	// Of the last WindowMessages messages Window shows the last WindowShown, each cut
	// at WindowCharacters characters; 0: not cut.
	WindowMessages, WindowShown, WindowCharacters int
	WarnAt                                        Thresholds
}

// Defaults are Full, with the numbers that seeds 000 and 002 give the others.
func Defaults() Settings {
	return Settings{
		Kind:        Full,
		MaxMessages: 50, KeepRecent: 10, KeepSystem: true,
		WindowMessages: 6, WindowShown: 3, WindowCharacters: 200,
		WarnAt: Thresholds{Approaching: Threshold{Percent: 80}, Limit: Threshold{Percent: 95}},
	}
}

// Validate says what is wrong with the settings, by the names that they have in a
// configuration.
func (s Settings) Validate() error {
	switch s.Kind {
	case Full, Window, Prune, Summarize:
	default:
		return fmt.Errorf("the policy %q is none of %s, %s, %s and %s", s.Kind, Full, Window, Prune, Summarize)
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

// Cut is at how many characters the policy cuts each text; 0: not.
func (s Settings) Cut() int {
	if s.Kind == Window {
		return s.WindowCharacters
	}
	return 0
}

// most is how many messages the policy looks at.
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
