package store

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Marker marks texts as a user's own, with a key in the user's state folder. Texts in another
// user's session have no such mark. It is safe for concurrent use.
type Marker struct{ file string }

// NewMarker returns the marker for the variables of an environment. Without a home folder no text
// is the user's own.
func NewMarker(lookup func(name string) (value string, set bool)) Marker {
	state := StateFolder(lookup)
	if state == "" {
		return Marker{}
	}
	return Marker{filepath.Join(state, "key")}
}

// Mark returns a text's mark, "" without a home folder.
func (m Marker) Mark(text string) (string, error) {
	key, err := m.key()
	if errors.Is(err, fs.ErrNotExist) && m.file != "" {
		key, err = m.newKey()
	}
	if err != nil || len(key) == 0 {
		return "", err
	}
	return sign(key, text), nil
}

// NoKeyError reports that a text has a mark, and the file of the key that would prove it is missing.
type NoKeyError struct{ File string }

func (e *NoKeyError) Error() string {
	return "the file " + e.File + ", which proves what is yours, is missing: copy it from where you began the session"
}

// IsOwn reports whether mark is the mark of text. Without the key's file the error is a *NoKeyError.
func (m Marker) IsOwn(text, mark string) (bool, error) {
	if mark == "" {
		return false, nil
	}
	key, err := m.key()
	if errors.Is(err, fs.ErrNotExist) {
		return false, &NoKeyError{m.file}
	}
	return len(key) > 0 && hmac.Equal([]byte(sign(key, text)), []byte(mark)), err
}

func sign(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

func (m Marker) key() ([]byte, error) {
	if m.file == "" {
		return nil, nil
	}
	key, err := os.ReadFile(m.file)
	if err != nil {
		return nil, fmt.Errorf("read the key that marks your own sessions: %w", err)
	}
	return key, nil
}

// newKey makes the key, or returns the key of a process that made it first.
func (m Marker) newKey() ([]byte, error) {
	beside := m.file + "-" + rand.Text()
	err := os.MkdirAll(filepath.Dir(m.file), 0o700)
	if err == nil {
		err = os.WriteFile(beside, []byte(rand.Text()), 0o600)
	}
	if err == nil {
		if err = os.Link(beside, m.file); errors.Is(err, fs.ErrExist) {
			err = nil
		}
		err = errors.Join(err, os.Remove(beside))
	}
	if err != nil {
		return nil, fmt.Errorf("make the key that marks your own sessions: %w", err)
	}
	return m.key()
}
