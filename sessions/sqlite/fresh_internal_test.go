package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/sessions"
)

// TestTextsOfRunningTurnsAreAtHand: what a turn has put is read without a query while it runs, and
// from the file afterwards.
func TestTextsOfRunningTurnsAreAtHand(t *testing.T) {
	s := open(t)
	_, err := s.Begin(t.Context(), "a", "?")
	must(t, err)
	must(t, event(t.Context(), s, "a", 1, "an answer"))
	must(t, event(t.Context(), s, "a", 1, "an answer")) // which another agent gives too
	long := strings.Repeat("x", mostNamed)
	must(t, event(t.Context(), s, "a", 1, long))
	texts := s.holds.texts
	ref, longRef := sessions.RefOf([]byte("an answer")), sessions.RefOf([]byte(long))
	if data, isFresh := texts.AtHand(ref); string(data) != "an answer" || isFresh {
		t.Errorf("at hand is %q, fresh: %t; want an answer that is in the file", data, isFresh)
	}
	if data, _ := texts.AtHand(longRef); data != nil {
		t.Error("a text is at hand that leaves no room for others")
	}
	_, err = s.Begin(t.Context(), "b", "?")
	must(t, err)
	must(t, s.End(t.Context(), "a", 1, done))
	if data, _ := texts.AtHand(ref); data != nil || texts.namedBytes != 0 {
		t.Errorf("a text of a turn that is over is at hand, or counted: %d bytes", texts.namedBytes)
	}
	for _, want := range []string{"an answer", long} {
		if got, err := s.Get(t.Context(), sessions.RefOf([]byte(want))); err != nil || string(got) != want {
			t.Errorf("%d bytes are read, want %d: %v", len(got), len(want), err)
		}
	}
	must(t, s.End(t.Context(), "b", 1, done))
}

// TestTextOfAnEndedTurnIsNotAtHand while another turn runs that began before it: nothing keeps the text
// from being deleted with its session.
func TestTextOfAnEndedTurnIsNotAtHand(t *testing.T) {
	s := open(t)
	for _, id := range []string{"older", "ended"} {
		_, err := s.Begin(t.Context(), id, "?")
		must(t, err)
		must(t, event(t.Context(), s, id, 1, "some text"))
	}
	ref, err := s.Put(t.Context(), []byte("its last text"))
	must(t, err)
	last := fmt.Appendf(nil, `{"text":{"sha256":"%s","bytes":%d}}`, ref.SHA256, ref.Bytes)
	must(t, s.EndWith(t.Context(), "ended", 1, done, last))
	must(t, s.Delete(t.Context(), "ended"))
	if _, err := s.Get(t.Context(), ref); !errors.Is(err, sessions.ErrNoText) {
		t.Errorf("the text of a deleted session: %v", err)
	}
	if err := s.Append(t.Context(), "older", 1, last); !errors.Is(err, sessions.ErrNoText) {
		t.Errorf("an event that names it: %v", err)
	}
	must(t, s.End(t.Context(), "older", 1, done))
}
