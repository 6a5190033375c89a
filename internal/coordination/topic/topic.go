// Package topic keeps what a conversation is about, who it is with, and whether
// they were greeted (seed 002, context components). All of it is plain values that
// a session stores as JSON; nothing here reads a clock.
package topic

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Topic is what is talked about. With Details, its place and time stand beside it.
type Topic struct {
	Name string `json:"name"`
	// Details are by lower-case name, such as "location" and "era". Nil is none; an
	// empty map has both of these as unknown.
	Details map[string]string `json:"details,omitzero"`
}

// unknown is what seed 002 writes for a detail that is not there.
const unknown = "Unknown"

// String is the anchor as models read it: the lines of seed 002, then any further
// details in the order of their names.
func (t Topic) String() string {
	lines := []string{"Currently discussing: " + t.Name}
	if t.Details == nil {
		return lines[0]
	}
	for _, name := range []string{"location", "era"} {
		value := t.Details[name]
		if value == "" {
			value = unknown
		}
		lines = append(lines, capitalised(name)+": "+value)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Details)) {
		if name != "location" && name != "era" {
			lines = append(lines, capitalised(name)+": "+t.Details[name])
		}
	}
	return strings.Join(lines, "\n")
}

func capitalised(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// Pending is a topic that somebody has to confirm before it is the current one,
// with the question that brought it up.
type Pending struct {
	Topic    Topic  `json:"topic"`
	Question string `json:"question"`
}

// State is the context of a session. Its zero value is that of a new one. One
// goroutine uses it.
type State struct {
	Current *Topic   `json:"current_topic,omitempty"`
	Pending *Pending `json:"pending_topic,omitempty"`
	// Greeted says that the session has had its greeting, LastMessage when its last
	// message was.
	Greeted     bool      `json:"greeted_this_session"`
	LastMessage time.Time `json:"last_interaction_time,omitzero"`
	// Page is what the newest system message with page context has said.
	Page Page `json:"page,omitzero"`
}

// AcceptSystem takes a client's system message for what it says of the page. Its previous
// topic becomes the current one if there is none. ok is false for a message without
// page context, which changes nothing. Nor does one with the page that the state has
// already: the same message may be taken before every turn.
func (s *State) AcceptSystem(message string) (ok bool) {
	page, ok := ParsePage(message)
	if !ok || page == s.Page {
		return ok
	}
	s.Page = page
	if s.Current == nil && page.PreviousTopic != "" {
		s.Set(Topic{Name: page.PreviousTopic})
	}
	return true
}

// Set makes t the current topic. What was pending stays so.
func (s *State) Set(t Topic) { s.Current = &t }

// Clear forgets the current topic and the pending one.
func (s *State) Clear() { s.Current, s.Pending = nil, nil }

// Propose makes t the pending topic, in place of one that is pending already.
func (s *State) Propose(t Topic, question string) { s.Pending = &Pending{t, question} }

// Confirm makes the pending topic the current one and returns the question that is
// to be asked now. Without a pending topic ok is false and nothing changes.
func (s *State) Confirm() (question string, ok bool) {
	if s.Pending == nil {
		return "", false
	}
	topic, question := s.Pending.Topic, s.Pending.Question
	s.Current, s.Pending = &topic, nil
	return question, true
}

// Decline forgets the pending topic; ok says whether there was one.
func (s *State) Decline() (ok bool) {
	ok = s.Pending != nil
	s.Pending = nil
	return ok
}

// recent is how soon after a message nobody is greeted.
const recent = 5 * time.Minute

// ShouldGreet says whether a greeting is in place at a moment: not twice in a
// session, nor within five minutes of its last message.
func (s *State) ShouldGreet(now time.Time) bool {
	return !s.Greeted && (s.LastMessage.IsZero() || now.Sub(s.LastMessage) >= recent)
}
