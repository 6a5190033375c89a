package tui

import (
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// TestTextsAreSearched: the picker of sessions finds what was said, by the word as it is when the
// search before is over, and shows where.
func TestTextsAreSearched(t *testing.T) {
	r := start(t, agrees, "")
	var b strings.Builder
	r.press("ctrl+s")
	r.until("they are listed", func() bool { return r.shows("Of sun") })
	r.write("shines")
	r.until("the place is found", func() bool { return r.shows("turn 1: It shines.") })
	b.WriteString("== found\n" + r.screen())
	if first, last := r.p.searched[0], r.p.searched[len(r.p.searched)-1]; first != "s" || last != "shines" || len(r.p.searched) > 3 {
		t.Errorf("it searched for %q", r.p.searched)
	}
	r.write("x")
	r.until("nothing is found", func() bool { return r.shows("nothing has that in it") })
	r.press("backspace", "ctrl+u")
	if !strings.Contains(r.screen(), "search: \n") && !strings.Contains(r.screen(), "search:\n") {
		t.Errorf("the words are not cleared:\n%s", r.screen())
	}
	r.write("shine")
	r.until("it is found again", func() bool { return r.shows("turn 1: It shines.") })
	r.update(t.Context(), tea.WindowSizeMsg{Width: 200, Height: 30})
	b.WriteString("== wide\n" + r.screen())
	checkGolden(t, "search", b.String())
	r.press("enter")
	r.until("s2 is open", func() bool { return r.shows("Talk s2") })
}

// TestModelIsChanged by /model, whose words are completed, and the header shows it.
func TestModelIsChanged(t *testing.T) {
	r := start(t, agrees, "")
	var b strings.Builder
	b.WriteString("== one model\n" + r.screen())
	r.write("/model a")
	r.press("tab")
	r.write("gp")
	r.press("tab")
	if got := r.s.entry.text(); got != "/model ada gpt-" || !r.shows("gpt-a  gpt-b") {
		t.Errorf("the line is %q:\n%s", got, r.screen())
	}
	r.write("b")
	r.press("tab", "enter")
	r.until("the header shows it", func() bool { return r.shows("ada (gpt-b), ▲ bob (m)") })
	b.WriteString("== two models\n" + r.screen())
	r.update(t.Context(), tea.WindowSizeMsg{Width: 200, Height: 30})
	b.WriteString("== wide\n" + r.screen())
	checkGolden(t, "model", b.String())
}

// TestColoursSuitTheTerminal: they are readable before it has said what its background is like, and
// stronger once it has.
func TestColoursSuitTheTerminal(t *testing.T) {
	r := start(t, agrees, "What is cheap?")
	r.until("the turn is over", func() bool { return r.idle() && r.shows("• a") })
	question := func() string {
		for line := range strings.SplitSeq(r.s.view(time.Time{}).Content, "\n") {
			if strings.Contains(line, "What is cheap?") {
				return line
			}
		}
		return ""
	}
	for _, step := range []struct {
		background tea.Msg
		want       string
	}{{tickMsg{}, ";5;63m"}, {tea.BackgroundColorMsg{Color: color.White}, ";5;57m"}, {tea.BackgroundColorMsg{Color: color.Black}, ";5;147m"}} {
		r.update(t.Context(), step.background)
		if got := question(); !strings.Contains(got, step.want) {
			t.Errorf("after %T the question is %q, want %s", step.background, got, step.want)
		}
	}
}

// TestTurnIsUndone: the screen goes over to the copy, and the question is there to be edited.
func TestTurnIsUndone(t *testing.T) {
	r := start(t, agrees, "What is cheap?")
	r.until("the turn is over", func() bool { return r.idle() && r.shows("Wind, says") })
	r.write("/undo")
	r.press("enter")
	r.until("the copy is open", func() bool { return r.shows("Talk s10") && !r.shows("Wind, says") })
	if got := r.s.entry.text(); got != "What is cheap?" || !r.shows("This goes on in s10.") {
		t.Errorf("the line is %q:\n%s", got, r.screen())
	}
	b := "== undone\n" + r.screen()
	r.update(t.Context(), tea.WindowSizeMsg{Width: 200, Height: 30})
	checkGolden(t, "undone", b+"== wide\n"+r.screen())
}

// TestToolsAreListed in a pager, also while a turn runs.
func TestToolsAreListed(t *testing.T) {
	r := start(t, hangs, "What is cheap?")
	r.until("the turn has begun", func() bool { return r.s.talk.running != nil && r.s.talk.running.turn != nil })
	r.write("/tools")
	r.press("enter")
	r.until("they are listed", func() bool { return r.shows("the agents' tools") && r.shows("ran /tools") })
	r.press("esc", "esc")
	r.until("the turn is over", r.idle)
}

// TestTurnKeepsItsSession: no other one is opened while it runs, and a command that fails beside it
// does not end it on the screen.
func TestTurnKeepsItsSession(t *testing.T) {
	r := start(t, hangs, "What is cheap?")
	r.until("the turn has begun", func() bool { return r.s.talk.running != nil && r.s.talk.running.turn != nil })
	r.press("ctrl+s")
	r.until("the sessions are listed", func() bool { return r.shows("Of sun") })
	r.press("down", "enter")
	if !r.shows("a turn runs: Esc ends it first") || len(r.p.ran()) > 0 {
		t.Errorf("it ran %q:\n%s", r.p.ran(), r.screen())
	}
	r.write("/tools broken")
	r.press("enter")
	r.until("the command has failed", func() bool { return r.shows("✗ /tools: a server does not answer") })
	if r.idle() {
		t.Fatal("the turn is off the screen")
	}
	r.until("ada has answered", func() bool { return r.shows("ada ✓ answered") })
	r.press("esc")
	r.until("the turn is over, with its answer", func() bool { return r.idle() && r.shows("Wind.") })
}

// TestCompletionKeepsLettersWhole: names that differ in the last byte of a letter have none of it in
// common.
func TestCompletionKeepsLettersWhole(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  string
	}{{[]string{"@aé", "@aè"}, "@a"}, {[]string{"@日本", "@日机"}, "@日"}, {[]string{"@aéb", "@aéc"}, "@aé"}} {
		if got := commonStart(test.names); got != test.want {
			t.Errorf("%q begin with %q, want %q", test.names, got, test.want)
		}
		e := newEntry(nil)
		e.set("@")
		if several := e.complete(test.names); e.text() != test.want || len(several) != 2 {
			t.Errorf("of %q it makes %q, want %q", test.names, e.text(), test.want)
		}
	}
}

// TestSessionsAreNotMixed: what was read for the session before is not shown in the one
// that is open.
func TestSessionsAreNotMixed(t *testing.T) {
	r := start(t, agrees, "")
	r.write("/session s2")
	r.press("enter")
	r.until("s2 is open", func() bool { return r.shows("Why the sun?") && r.shows("It shines.") })
	before := r.screen()
	r.update(t.Context(), pastMsg{turns: []Exchange{{"Another question?", "Another answer.", "ada", "completed"}}})
	if got := r.screen(); got != before {
		t.Errorf("another session's texts are shown:\n%s", got)
	}
}

// TestInputsAreShown: of any call, with what is new in it; on an agent its last one.
func TestInputsAreShown(t *testing.T) {
	r := start(t, agrees, "What is cheap?")
	r.until("the turn is over", func() bool { return r.idle() && r.s.talk.last.answer != "" })
	r.press("ctrl+t")
	r.until("the calls are listed", func() bool { return r.shows("turn-001/bob/call-001  round 1") })
	r.press("down", "enter")
	r.until("an input is shown", func() bool { return r.shows("the input of turn-001/bob/call-001 with ***") })
	r.press("d")
	if !r.shows("new in turn-001/bob/call-001") || !r.shows("+ new in turn-001/bob/call-001") {
		t.Errorf("what is new is not shown:\n%s", r.screen())
	}
	r.press("right")
	r.until("the next one is shown", func() bool { return r.shows("+ new in turn-001/ada/call-002") })
	r.press("right", "d")
	if !r.shows("the input of turn-001/ada/call-002") {
		t.Errorf("all of it is not shown again:\n%s", r.screen())
	}
	r.press("esc", "tab", "right", "i")
	r.until("bob's last input is shown", func() bool { return r.shows("the input of turn-001/bob/call-001") })
	r.press("left", "right", "esc", "esc")
	if !r.shows("Enter send") {
		t.Errorf("it does not close:\n%s", r.screen())
	}
}
