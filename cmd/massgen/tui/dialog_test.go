package tui

import (
	"encoding/json"
	"errors"
	"fmt"
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
		r.update(t.Context(), approvalMsg{massgen.ApprovalRequest{
			Agent: "ada", Tool: "edit_file", Why: "a rule", Arguments: `{"path":"a.go","old_text":"x\u001b[2J","new_text":"y\nz"}`,
		}, offer, answer, gone})
		r.until("the dialog hears keys", r.isHeard)
		return answer, gone
	}
	answer, _ := ask()
	for _, want := range []string{"ada asks to run edit_file (a rule)", "a.go", "- x", "+ y", "+ z", "in the folder /work/ada", "o  once", "w  no, and say why", "s  always in this session: edit_file", "a  always: keep the rule allow edit_file(path: a.go)"} {
		if !r.shows(want) {
			t.Errorf("%q is not shown:\n%s", want, r.screen())
		}
	}
	r.press("enter", "x", "o")
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
	if r.shows("  a  ") || len(answer) > 0 {
		t.Errorf("a rule is offered that there is not:\n%s", r.screen())
	}
	close(gone)
	r.update(t.Context(), tickMsg{})
	if r.shows("asks to run") {
		t.Error("a call that nobody waits for is still asked about")
	}
}

// isHeard reports whether a dialog hears keys.
func (r *rig) isHeard() bool {
	d, ok := r.s.overlay.(*dialog)
	return ok && d.isHeard
}

// TestTypingIsNoAnswer: what a person types when the dialog opens goes into their line, until they pause.
func TestTypingIsNoAnswer(t *testing.T) {
	r := start(t, agrees, "")
	answer := make(chan massgen.Decision, 1)
	grant := func(bool) error { t.Error("a rule is kept"); return nil }
	r.write("what ")
	r.update(t.Context(), approvalMsg{massgen.ApprovalRequest{Agent: "ada", Tool: "t"}, Offer{Session: "t", Always: "t", Grant: grant}, answer, nil})
	r.write("says an owl")
	r.update(t.Context(), tea.PasteMsg{Content: "?"})
	r.press("esc", "ctrl+c")
	if !r.shows("stop typing to answer") || r.s.leaving.key != "" {
		t.Errorf("it does not say that it hears nothing yet:\n%s", r.screen())
	}
	early := pausedMsg{r.s.overlay.(*dialog), 3}
	r.update(t.Context(), early)
	if r.isHeard() {
		t.Error("it hears keys without a pause")
	}
	r.until("the dialog hears keys", r.isHeard)
	if len(answer) > 0 || r.s.entry.text() != "what says an owl?" {
		t.Errorf("%q was typed", r.s.entry.text())
	}
	r.update(t.Context(), pagerMsg{"late", "a text"})
	if !r.shows("ada asks to run t") {
		t.Errorf("the dialog is covered:\n%s", r.screen())
	}
	r.press("n")
	if v := <-answer; v.Allowed || !r.shows("a text") {
		t.Errorf("%+v; what was opened meanwhile is not shown:\n%s", v, r.screen())
	}
}

// TestLongCallsScroll: all of a call can be read, and what the keys mean, on the smallest screens.
func TestLongCallsScroll(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 10}, {20, 8}} {
		r := start(t, agrees, "")
		r.update(t.Context(), tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		var content []string
		for i := range 100 {
			content = append(content, fmt.Sprintf("line-%d", i))
		}
		arguments, err := json.Marshal(map[string]string{"path": "a", "content": strings.Join(content, "\n")})
		if err != nil {
			t.Fatal(err)
		}
		r.update(t.Context(), approvalMsg{massgen.ApprovalRequest{Agent: "ada", Tool: "write_file", Why: "a rule", Arguments: string(arguments)}, Offer{Session: "write_file", Always: "allow-it"}, nil, nil})
		r.until("the dialog hears keys", r.isHeard)
		seen := map[string]bool{}
		for last := ""; last != r.screen(); r.press("down") {
			last = r.screen()
			for word := range strings.FieldsSeq(last) {
				seen[word] = true
			}
		}
		for _, want := range append(content, "allow-it", "o", "s", "a", "n", "w") {
			if !seen[want] {
				t.Errorf("%v: %s is never shown:\n%s", size, want, r.screen())
				break
			}
		}
	}
}

// TestDialogLeavesAgentsInSight, and what a person has typed, on a screen of the usual size.
func TestDialogLeavesAgentsInSight(t *testing.T) {
	r := start(t, hangs, "What is cheap?")
	r.until("ada has answered", func() bool { return r.shows("ada ✓ answered") })
	r.write("in French")
	arguments := `{"argv":["rm","-r","` + strings.Repeat("x", 3000) + `"]}`
	r.update(t.Context(), approvalMsg{massgen.ApprovalRequest{Agent: "bob", Tool: "run_command", Why: "a rule", Arguments: arguments}, Offer{Session: "rm", Always: "allow rm"}, nil, nil})
	r.until("the dialog hears keys", r.isHeard)
	for _, want := range []string{"ada ✓ answered", "bob asks to run run_command", "in the folder /work/bob", "a  always: keep the rule allow rm", "> in French"} {
		if !r.shows(want) {
			t.Errorf("%q is not in sight:\n%s", want, r.screen())
		}
	}
}
