package wire

import (
	"testing"

	"github.com/massgen/massgen/backends"
)

func TestWhatWasEncodedLastIsEncodedOnce(t *testing.T) {
	s, made := NewShared(0, 0), 0
	form := func() (any, error) { made++; return made, nil }
	text := func(kind, text string, want string) {
		t.Helper()
		if got, err := s.EncodeText(kind, text, form); err != nil || string(got) != want {
			t.Errorf("the %s %q is %s (%v), want %s", kind, text, got, err, want)
		}
	}
	text("user", "hello", "1")
	text("user", "hello", "1")
	text("user", "hello again", "2")
	text("other", "hello again", "3")
	text("user", "hello", "4")

	list := []backends.Tool{{Name: "look", Schema: []byte(`{}`)}}
	tools := func(want string) {
		t.Helper()
		if got, err := s.EncodeTools("functions", list, form); err != nil || string(got) != want {
			t.Errorf("tools are %s (%v), want %s", got, err, want)
		}
	}
	tools("5")
	tools("5")
	list[0].Schema[1] = ']' // the caller uses the list again
	tools("6")
	list[0].Description = "Looks."
	tools("7")
}
