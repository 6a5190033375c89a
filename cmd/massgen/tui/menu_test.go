package tui

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestCommandsAreListedAsTheyAreTyped, with their meanings. Arrows choose, Tab takes one into the line, Enter runs it.
func TestCommandsAreListedAsTheyAreTyped(t *testing.T) {
	r := start(t, agrees, "")
	r.write("/")
	if !r.shows("/copy      copy the last answer") || !r.shows("↑↓ choose") {
		t.Errorf("the commands are not listed:\n%s", r.screen())
	}
	r.write("s")
	if r.shows("copy the last answer") || !r.shows("/status    show the session") {
		t.Errorf("they are not those that begin with /s:\n%s", r.screen())
	}
	r.press("down", "down", "tab")
	if got := r.s.entry.text(); got != "/status " || r.s.menu.isOpen() {
		t.Errorf("the line is %q:\n%s", got, r.screen())
	}
	r.press("ctrl+u")
	r.write("/side")
	r.press("enter")
	r.until("a word of a meaning is no name", func() bool { return slices.Contains(r.p.ran(), "/side") })
	r.write("/side")
	r.press("down", "enter")
	r.until("the chosen one is shown", func() bool { return r.s.overlay != nil })
	if !slices.Contains(r.p.ran(), "/answers") {
		t.Errorf("the chosen one has not run:\n%s", r.screen())
	}
	r.press("esc")
	r.write("/stat")
	r.press("enter")
	r.until("the chosen one has run", func() bool { return slices.Contains(r.p.ran(), "/status") })
	r.write("/sav")
	r.press("enter")
	if got := r.s.entry.text(); got != "/save " {
		t.Errorf("a command that needs a word is %q in the line", got)
	}
	r.press("ctrl+u")
	r.write("/st")
	r.press("esc")
	if r.s.menu.isOpen() || r.s.entry.text() != "/st" {
		t.Errorf("it does not close:\n%s", r.screen())
	}
	r.write("a")
	if r.s.menu.isOpen() {
		t.Errorf("it opens again for the same word:\n%s", r.screen())
	}
	r.press("ctrl+u")
	r.write("a /")
	if r.s.menu.isOpen() {
		t.Errorf("commands are listed within a question:\n%s", r.screen())
	}
}

// TestWholeNamesRun as they are, also beside longer ones that begin like them.
func TestWholeNamesRun(t *testing.T) {
	commands := []Choice{{"/sessions", "list"}, {"/session", "go on"}, {"/stop", "end it"}}
	for word, want := range map[string]string{"/session": "/session /sessions", "/SES": "/sessions /session", "/end": "/stop", "/en": "", "/none": ""} {
		var names []string
		for _, c := range commandsLike(commands, word) {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s lists %q, want %q", word, got, want)
		}
	}
}

// TestFilesAreListedBehindAt, and a chosen folder shows its files.
func TestFilesAreListedBehindAt(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("notes", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes/wind.txt", "notes/sun.txt", "other.txt"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, agrees, "")
	r.write("/attach")
	r.press("enter")
	if !r.shows("@notes/") || !r.shows("@other.txt") {
		t.Errorf("the files are not listed:\n%s", r.screen())
	}
	r.press("enter")
	if !r.shows("@notes/sun.txt") {
		t.Errorf("those of the folder are not listed:\n%s", r.screen())
	}
	r.press("down", "enter")
	r.write("why?")
	if got := r.s.entry.text(); got != "@notes/wind.txt why?" {
		t.Errorf("the line is %q", got)
	}
}

// TestFilesOfHostileNamesAreNotListed: an agent may have made them, and the line shows the name that is taken.
func TestFilesOfHostileNamesAreNotListed(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a\x1b]52;c;eA==\a.txt", "a\nb.txt", "ab.txt"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := filesLike("@"); !slices.Equal(got, []string{"@ab.txt"}) {
		t.Errorf("%q are listed", got)
	}
}

// TestSessionsAreRenamedAndDeleted from the picker, after a question, which a no takes back to the picker.
func TestSessionsAreRenamedAndDeleted(t *testing.T) {
	r := start(t, agrees, "")
	r.press("ctrl+s")
	r.until("they are listed", func() bool { return r.shows("2026-01-02 15:04  Of wind") && r.shows("winds.yaml   1 turn        $?") })
	r.press("down", "ctrl+r", "esc", "ctrl+r", "ctrl+u")
	r.write("Of the sum")
	r.press("backspace")
	r.update(t.Context(), tea.PasteMsg{Content: "n\n"})
	r.press("enter")
	r.until("it has another title", func() bool { return r.shows("2025-12-26 15:04  Of the sun") })
	r.press("down", "ctrl+d")
	if !r.shows(`Delete "Of the sun`) {
		t.Errorf("it does not ask:\n%s", r.screen())
	}
	r.press("n")
	if !r.shows("Of the sun") || !r.shows("search:") {
		t.Errorf("no does not go back:\n%s", r.screen())
	}
	r.press("ctrl+d", "y")
	r.until("it is gone", func() bool { return r.shows("search:") && !r.shows("Of the sun") })
	if ran := r.p.ran(); len(ran) > 0 {
		t.Errorf("it ran %q", ran)
	}
	r.press("ctrl+d", "y")
	r.until("the open one is left for a new one", func() bool { return slices.Contains(r.p.ran(), "/delete yes") })
}

// TestOldAnswersAreFound by /find, whose words are those of the picker.
func TestOldAnswersAreFound(t *testing.T) {
	r := start(t, agrees, "")
	r.write("/find shines")
	r.press("enter")
	r.until("the place is found", func() bool { return r.shows("search: shines") && r.shows("Of sun · turn 1: It shines.") })
}

// TestMouseSelects text, until a person wants the wheel to scroll.
func TestMouseSelects(t *testing.T) {
	r := start(t, agrees, "")
	for _, want := range []tea.MouseMode{tea.MouseModeNone, tea.MouseModeCellMotion, tea.MouseModeNone} {
		if v := r.s.View(); v.MouseMode != want {
			t.Errorf("the mode is %v, want %v", v.MouseMode, want)
		}
		r.write("/mouse")
		r.press("enter")
	}
}

// TestFoundTurnIsShown when its session is opened, and in the session that is open.
func TestFoundTurnIsShown(t *testing.T) {
	p := newPanel(t, agrees)
	for i := range 40 {
		p.past = append(p.past, Exchange{fmt.Sprintf("Question %d?", i+1), strings.Repeat("Answer. ", 50), "ada", "completed"})
	}
	r := startOn(t, p, "")
	r.until("the end is shown", func() bool { return r.shows("Question 40?") })
	newSessionPicker(p.kept, "", r.s).choose(pick{name: "s1", turn: 7})
	if !r.shows("┃ Question 7?") || r.shows("Question 40?") {
		t.Errorf("the turn is not shown:\n%s", r.screen())
	}
	r.s.transcript.clear()
	r.s.due.turn = 9
	r.update(t.Context(), pastMsg{r.s.transcript.page, p.past})
	if !r.shows("┃ Question 9?") || r.s.due.turn != 0 {
		t.Errorf("the turn of the opened session is not shown:\n%s", r.screen())
	}
}

// TestTextsAreShownAroundTheWord that was searched.
func TestTextsAreShownAroundTheWord(t *testing.T) {
	for text, want := range map[string]string{
		"Of all that is cheap, WIND is": "…t is cheap, WIND is", "wind": "wind", "nothing": "nothing", "Äpfel und sehr viel Wind": "…d sehr viel Wind", "İİİİİİİİİİİİİİİ wind": "…İİİİİİİİİİİ wind",
	} {
		if got := around(text, "Wind sun"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
