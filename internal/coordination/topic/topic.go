// Package topic keeps the context of a conversation: its topic, the user's page, and
// whether the user was greeted (seed 002, context components). Its values are plain;
// sessions store them as JSON. It reads no clock.
package topic

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Topic is the subject of a conversation. Details has its place and time, if known.
type Topic struct {
	Name string `json:"name"`
	// Details has values by lower-case name, such as "location" and "era". Nil means no
	// details; in an empty map both of these are unknown.
	Details map[string]string `json:"details,omitzero"`
}

// unknown is the text of seed 002 for a missing detail.
const unknown = "Unknown"

// String returns the text for models: the lines of seed 002, then any further details
// in the order of their names.
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

// Pending is a topic that the user must confirm before it becomes the current one, with
// the question that raised it.
type Pending struct {
	Topic    Topic  `json:"topic"`
	Question string `json:"question"`
}

// State is the context of a session. The zero value belongs to a new session. One
// goroutine uses it.
type State struct {
	Current *Topic   `json:"current_topic,omitempty"`
	Pending *Pending `json:"pending_topic,omitempty"`
	// Greeted reports whether the session has had its greeting. LastMessage is when its last message
	// was, or, before the session has one, when its user last had an answer in another session.
	Greeted     bool      `json:"greeted_this_session"`
	LastMessage time.Time `json:"last_interaction_time,omitzero"`
	// Page is the page of the newest system message with page context. ConfigPage is the page that
	// the configuration described last.
	Page       Page `json:"page,omitzero"`
	ConfigPage Page `json:"config_page,omitzero"`
}

// AcceptSystem reads the page from a client's system messages, oldest first. The newest page counts.
// A new previous topic of a page becomes the current topic, in place of an older one. ok is false
// for messages without page context, which change nothing. Messages with the present page change
// nothing either, so the same messages may be accepted before every turn.
func (s *State) AcceptSystem(messages ...string) (ok bool) {
	var newest Page
	previous := ""
	for _, message := range messages {
		if page, hasPage := ParsePage(message); hasPage {
			newest, ok = page, true
			previous = cmp.Or(page.PreviousTopic, previous)
		}
	}
	if !ok || newest == s.Page {
		return ok
	}
	isNew := s.Current == nil || previous != s.Page.PreviousTopic && previous != s.Current.Name
	s.Page = newest
	if previous != "" && isNew {
		s.Set(Topic{Name: previous})
	}
	return true
}

// AcceptConfig reads the page from a system message of the configuration, as AcceptSystem does. The page
// that it accepted last changes nothing, whatever page a client has described since.
func (s *State) AcceptConfig(message string) (ok bool) {
	page, ok := ParsePage(message)
	if !ok || page == s.ConfigPage {
		return ok
	}
	s.ConfigPage = page
	return s.AcceptSystem(message)
}

// Set makes t the current topic. It keeps the pending topic.
func (s *State) Set(t Topic) { s.Current = &t }

// Clear forgets the current topic and the pending one.
func (s *State) Clear() { s.Current, s.Pending = nil, nil }

// Propose makes t the pending topic, in place of another one.
func (s *State) Propose(t Topic, question string) { s.Pending = &Pending{t, question} }

// Confirm makes the pending topic the current one and returns its question, which must
// be asked now. Without a pending topic ok is false and nothing changes.
func (s *State) Confirm() (question string, ok bool) {
	if s.Pending == nil {
		return "", false
	}
	topic, question := s.Pending.Topic, s.Pending.Question
	s.Current, s.Pending = &topic, nil
	return question, true
}

// Decline forgets the pending topic; ok reports whether there was one.
func (s *State) Decline() (ok bool) {
	ok = s.Pending != nil
	s.Pending = nil
	return ok
}

// recent is the time after a message in which nobody is greeted.
const recent = 5 * time.Minute

// ShouldGreet reports whether to greet at a moment: once in a session, and not within
// five minutes of the user's last message.
func (s *State) ShouldGreet(now time.Time) bool {
	return !s.Greeted && (s.LastMessage.IsZero() || now.Sub(s.LastMessage) >= recent)
}
