package tui

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMissingFilesAreNamed before a question with one is sent, and by /attach.
func TestMissingFilesAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("wind"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, agrees, "")
	r.write("/attach gone.txt")
	r.press("enter")
	if !r.shows("✗ /attach gone.txt: no such file") || !r.s.entry.isEmpty() {
		t.Errorf("/attach does not say so:\n%s", r.screen())
	}
	r.write("/attach no")
	if !r.shows("  @notes.txt") {
		t.Errorf("/attach lists no files:\n%s", r.screen())
	}
	r.press("enter")
	if got := r.s.entry.text(); got != "/attach notes.txt " {
		t.Errorf("the chosen file is %q", got)
	}
	r.press("enter")
	r.write("and @gone.txt")
	if got := r.s.entry.text(); got != "@notes.txt and @gone.txt" {
		t.Errorf("the line is %q", got)
	}
	r.press("enter")
	r.until("the turn is over", func() bool { return r.idle() && r.s.talk.last.answer != "" })
	said := func(b block) bool { return b.kind == told && strings.HasPrefix(b.text, "@gone.txt: no such file") }
	if !slices.ContainsFunc(r.s.transcript.blocks, said) {
		t.Errorf("the missing file is not named:\n%s", r.screen())
	}
}

// TestRetryAsksWhatWasTyped, with its files.
func TestRetryAsksWhatWasTyped(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("wind"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPanel(t, agrees)
	p.past = []Exchange{{"See notes.txt\n\n[Attached: notes.txt (text/plain, 4 bytes, sha256 0)]", "Wind.", "ada", "completed"}}
	r := startOn(t, p, "")
	r.s.talk.typed = "See @notes.txt"
	r.write("/retry")
	r.press("enter")
	r.until("it is asked again", func() bool {
		return r.idle() && r.s.talk.last.answer != "" && r.s.talk.typed != "" && r.s.session.ID == "s9"
	})
	if got := r.s.transcript.first(asked); got != "See @notes.txt" {
		t.Errorf("it asks %q:\n%s", got, r.screen())
	}
}

// TestEscRemovesALoneSlash.
func TestEscRemovesALoneSlash(t *testing.T) {
	r := start(t, agrees, "")
	r.write("/")
	r.press("esc")
	if !r.s.entry.isEmpty() || r.s.menu.isOpen() {
		t.Errorf("the line is %q", r.s.entry.text())
	}
}

// TestMoreLinesBelowAreCounted until the end is on the screen.
func TestMoreLinesBelowAreCounted(t *testing.T) {
	r := start(t, agrees, "")
	var b strings.Builder
	for range 99 {
		b.WriteString("line\n\n")
	}
	r.s.talk.showAnswer(b.String()+"the end", "ada", "completed")
	r.s.transcript.showLast(replied)
	if !r.shows("▾ ") || !r.shows("more lines: PgDn") {
		t.Errorf("nothing says that more follows:\n%s", r.screen())
	}
	for range 60 {
		r.press("pgdown")
	}
	if !r.shows("the end") || r.shows("PgDn") {
		t.Errorf("the end is not shown:\n%s", r.screen())
	}
}

// TestPickerStaysByADeletedSession.
func TestPickerStaysByADeletedSession(t *testing.T) {
	p := newPanel(t, agrees)
	p.kept = append(p.kept, Kept{ID: "s3", Title: "Of rain", Turns: 1}, Kept{ID: "s4", Title: "Of snow", Turns: 1})
	r := startOn(t, p, "")
	r.press("ctrl+s")
	r.until("the sessions are listed", func() bool { return r.shows("Of snow") })
	r.press("down", "down", "ctrl+d", "y")
	r.until("the others are listed", func() bool {
		list, ok := r.s.overlay.(*sessionPicker)
		return ok && len(list.kept) == 3
	})
	if list := r.s.overlay.(*sessionPicker); list.fit()[list.at].name != "s4" {
		t.Errorf("the chosen session is %q", list.fit()[list.at].name)
	}
}
