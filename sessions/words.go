package sessions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The keys of the metadata in a session's id (ParseID).
const (
	metaName = "name"
	MetaApp  = "app"
	MetaUser = "user"
)

// The most bytes of ids, titles and other names.
const (
	mostID    = 256
	mostTitle = 1000
	mostKey   = 256
	mostValue = 64 << 10
)

// ParseID parses the metadata that seed 002 puts into a session's id, as in
// "Dan|fractional_abc123|role:cfo": the name, the application and the user under the keys
// above, then any number of keys with values. An id without a bar has none, and a part without
// a colon is ignored. The first occurrence of a key counts.
func ParseID(id string) map[string]string {
	if !strings.Contains(id, "|") {
		return nil
	}
	parts := strings.Split(id, "|")
	said := map[string]string{}
	add := func(key, value string) {
		if _, taken := said[key]; !taken && key != "" && value != "" {
			said[key] = value
		}
	}
	add(metaName, parts[0])
	if app, user, ok := strings.Cut(parts[1], "_"); ok {
		add(MetaApp, app)
		add(MetaUser, user)
	} else {
		add(MetaUser, parts[1])
	}
	for _, part := range parts[2:] {
		key, value, _ := strings.Cut(part, ":")
		add(key, value)
	}
	return said
}

// metaSession is the key in an id that tells apart the sessions of one user.
const metaSession = "id"

// NewIDLike returns an id for a new session of the user of another one: it keeps what the other id says of the user, and
// the parts with other keys than these. For an id without a user it is NewID. If the id would be too long, it has the
// application and the user alone.
func NewIDLike(like string, without ...string) string {
	own := NewID()
	if ParseID(like)[MetaUser] == "" {
		return own
	}
	parts := strings.Split(like, "|")
	kept := slices.Clone(parts[:2])
	for _, part := range parts[2:] {
		if key, _, _ := strings.Cut(part, ":"); key != metaSession && !slices.Contains(without, key) {
			kept = append(kept, part)
		}
	}
	last := metaSession + ":" + own
	for _, list := range [][]string{kept, kept[:2], {"", kept[1]}} {
		if id := strings.Join(list, "|") + "|" + last; len(id) <= mostID {
			return id
		}
	}
	return own
}

// titleRunes is the most runes of a question that become a title.
const titleRunes = 60

// TitleOf returns the title that a question gives to a session without one: its first line that
// is not blank, cut.
func TitleOf(question string) string {
	for line := range strings.Lines(question) {
		words := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(line, "\uFFFD"), func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r)
		}), " ")
		if words == "" {
			continue
		}
		if utf8.RuneCountInString(words) > titleRunes {
			return strings.TrimSpace(string([]rune(words)[:titleRunes-1])) + "…"
		}
		return words
	}
	return ""
}

// CheckID returns an error for an invalid session id. Any line of text is valid except "." and
// "..", which people take for folders, and white space alone, which nobody sees.
func CheckID(id string) error {
	switch {
	case id == "":
		return errors.New("the session's id is empty")
	case id == "." || id == "..":
		return fmt.Errorf("the session's id %q is the name of a folder: name another", id)
	case strings.TrimSpace(id) == "":
		return fmt.Errorf("the session's id %q is white space alone: name another", id)
	}
	return checkLine("the session's id", id, mostID)
}

// checkQuestion returns an error if a question is no valid text. Its callers decide which
// questions may be asked.
func checkQuestion(question string) error {
	if !utf8.ValidString(question) {
		return errors.New("the question is not valid UTF-8")
	}
	return nil
}

// CheckTitle returns an error for an invalid title.
func CheckTitle(title string) error { return checkLine("the title", title, mostTitle) }

// CheckMetadata returns an error for invalid metadata of a session.
func CheckMetadata(metadata map[string]string) error {
	for key, value := range metadata {
		if key == "" {
			return errors.New("a key of the metadata is empty")
		}
		if err := checkLine("the metadata's key", key, mostKey); err != nil {
			return err
		}
		if err := checkText("the metadata's "+key, value); err != nil {
			return err
		}
	}
	return nil
}

// checkFact returns an error for an invalid fact about a user.
func checkFact(user, text string) error {
	if err := checkLine("the user", user, mostKey); err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return errors.New("the fact is empty")
	}
	return checkText("the fact", text)
}

func checkLine(what, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s has %d bytes, and the most is %d: shorten it", what, len(text), most)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s %q is not valid UTF-8", what, text)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("%s %q has control characters: leave them out", what, text)
	}
	return nil
}

func checkText(what, text string) error {
	if len(text) > mostValue {
		return fmt.Errorf("%s has %d bytes, and the most is %d: shorten it", what, len(text), mostValue)
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return fmt.Errorf("%s is not valid UTF-8 text", what)
	}
	return nil
}
