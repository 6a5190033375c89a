package sessions

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LongestID is how many characters an id may have.
const LongestID = 200

// StableID is what an id of the form "name|app_user|key:value|…" says: who talks,
// to which application, and what else it is to be known by (seed 002, session ID
// convention).
type StableID struct {
	Name string
	App  string
	User string
	// Metadata are the further parts.
	Metadata map[string]string
}

// ParseStableID reads such an id. ok is false for any other, which says nothing but
// its name.
func ParseStableID(id string) (parsed StableID, ok bool) {
	parts := strings.Split(id, "|")
	if len(parts) < 2 {
		return StableID{}, false
	}
	app, user, found := strings.Cut(parts[1], "_")
	if !found || parts[0] == "" || app == "" || user == "" {
		return StableID{}, false
	}
	s := StableID{Name: parts[0], App: app, User: user, Metadata: map[string]string{}}
	for _, part := range parts[2:] {
		key, value, found := strings.Cut(part, ":")
		if !found || key == "" {
			return StableID{}, false
		}
		s.Metadata[key] = value
	}
	return s, true
}

// UserKey is what facts about the user are kept under: the user of the application,
// or the whole id where it names none.
func UserKey(id string) string {
	if s, ok := ParseStableID(id); ok {
		return s.App + "_" + s.User
	}
	return id
}

// CheckID says what is wrong with an id that a person has chosen. An id is any text
// of one line; it is no path, and begins with no dash, which would be a flag.
func CheckID(id string) error {
	switch {
	case id == "" || strings.TrimSpace(id) != id:
		return fmt.Errorf("the session id %q is empty, or has spaces at its ends", id)
	case utf8.RuneCountInString(id) > LongestID:
		return fmt.Errorf("the session id has more than %d characters", LongestID)
	case strings.HasPrefix(id, "-"):
		return fmt.Errorf("the session id %q begins with a dash, as flags do", id)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return fmt.Errorf("the session id %q has characters that cannot be shown", id)
	}
	return nil
}
