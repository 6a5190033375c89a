package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen"
)

// TestToolCallIsAsked: a person allows it once, in the session or always, or not, and may say why
// not. They are not asked about one that nobody waits for.
func TestToolCallIsAsked(t *testing.T) {
	r := start(t, agrees, "")
	var granted []bool
	var fault error
	offer := Offer{Session: "edit_file", Always: "allow edit_file(path: a.go)", Grant: func(always bool) error {
		granted = append(granted, always)
		return fault
	}}
	ask := func() (<-chan massgen.Decision, chan struct{}) {
		answer, gone := make(chan massgen.Decision, 1), make(chan struct{})
		r.update(t.Context(), approvalMsg{massgen.Approval{
			Agent: "ada", Tool: "edit_file", Why: "a rule", Arguments: `{"path":"a.go","old_text":"x\u001b[2J","new_text":"y\nz"}`,
		}, offer, answer, gone})
		return answer, gone
	}
	answer, _ := ask()
	for _, want := range []string{"ada asks to run edit_file (a rule)", "a.go", "- x", "+ y", "+ z", "s allows in this session: edit_file", "a keeps the rule: allow edit_file(path: a.go)"} {
		if !r.shows(want) {
			t.Errorf("%q is not shown:\n%s", want, r.screen())
		}
	}
	r.press("enter", "o")
	if v := <-answer; !v.Allowed || len(granted) > 0 {
		t.Errorf("o: %+v, granted %v", v, granted)
	}
	answer, _ = ask()
	r.press("n")
	if v := <-answer; v != (massgen.Decision{}) {
		t.Errorf("n: %+v", v)
	}
	answer, _ = ask()
	r.press("w")
	r.write("use")
	r.press("esc", "w")
	r.write("use the trasx")
	r.press("backspace")
	r.update(t.Context(), tea.PasteMsg{Content: "h, n\no x"})
	if !r.shows("why not? use the trash, n") {
		t.Errorf("the reason is not shown:\n%s", r.screen())
	}
	r.press("enter")
	if v := <-answer; v.Allowed || !strings.HasPrefix(v.Reason, "use the trash, n") || strings.Contains(v.Reason, "\n") {
		t.Errorf("w: %+v", v)
	}
	for _, key := range []string{"s", "a"} {
		answer, _ = ask()
		r.press(key)
		if v := <-answer; !v.Allowed || r.s.overlay != nil {
			t.Errorf("%s: %+v", key, v)
		}
	}
	if want := []bool{false, true}; !slices.Equal(granted, want) {
		t.Errorf("granted %v, want %v", granted, want)
	}
	fault = errors.New("the disk is full")
	answer, _ = ask()
	r.press("a")
	r.until("it says that no rule was kept", func() bool { return r.shows("the call runs once: the disk is full") })
	if v := <-answer; !v.Allowed {
		t.Errorf("a on a full disk: %+v", v)
	}
	offer.Always = ""
	answer, gone := ask()
	r.press("a")
	if r.shows("a always") || len(answer) > 0 {
		t.Errorf("a rule is offered that there is not:\n%s", r.screen())
	}
	close(gone)
	r.update(t.Context(), tickMsg{})
	if r.shows("asks to run") {
		t.Error("a call that nobody waits for is still asked about")
	}
}
