package wire

import "testing"

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
}
