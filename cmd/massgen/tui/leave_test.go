package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// TestTurnIsEnded by Esc, if it hangs, with the best answer so far. Neither a second Esc nor one that comes within two seconds of its
// end counts for anything else. Then two leave.
func TestTurnIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, hangs, "What is cheap?")
		r.until("ada has answered", func() bool { return r.shows("ada ✓ answered") })
		r.press("esc", "esc", "esc")
		if r.quit || r.s.leaving.key != "" || !r.s.talk.running.ending {
			t.Errorf("more than the turn ends:\n%s", r.screen())
		}
		r.until("the turn is over", r.idle)
		if !r.shows("Wind.") || !r.shows("interrupted") {
			t.Errorf("the best answer is not shown:\n%s", r.screen())
		}
		r.press("esc", "esc")
		time.Sleep(quietAfter - time.Millisecond)
		r.press("esc", "esc")
		if r.quit || r.s.leaving.key != "" {
			t.Errorf("a late Esc counts:\n%s", r.screen())
		}
		time.Sleep(time.Millisecond)
		r.press("esc")
		if !r.shows("Esc again leaves") {
			t.Errorf("it does not say what the next Esc does:\n%s", r.screen())
		}
		r.press("esc")
		r.until("it leaves", func() bool { return r.quit })
	})
}

// TestEscTwiceLeaves within three seconds and on an empty line, if both come one behind the other, and the second is not the
// beginning of another key.
func TestEscTwiceLeaves(t *testing.T) {
	for name, test := range map[string]struct {
		do     func(r *rig)
		leaves bool
	}{
		"once":                  {func(r *rig) { r.press("esc") }, false},
		"twice":                 {func(r *rig) { r.press("esc", "esc") }, true},
		"in time":               {func(r *rig) { r.press("esc"); time.Sleep(leaveWithin); r.press("esc") }, true},
		"too late":              {func(r *rig) { r.press("esc"); time.Sleep(leaveWithin + time.Millisecond); r.press("esc") }, false},
		"with a text":           {func(r *rig) { r.write("x"); r.press("esc", "esc") }, false},
		"a key between":         {func(r *rig) { r.press("esc", "x", "backspace", "esc") }, false},
		"a key in pieces":       {func(r *rig) { r.press("esc", "esc", "[", "A") }, false},
		"a page is closed":      {func(r *rig) { r.press("?", "esc", "esc") }, false},
		"closed between":        {func(r *rig) { r.press("esc", "?", "esc", "esc") }, false},
		"closed, then twice":    {func(r *rig) { r.press("?", "esc", "esc", "esc") }, true},
		"an agent is left":      {func(r *rig) { r.press("tab", "esc", "esc") }, false},
		"a menu is closed":      {func(r *rig) { r.press("/", "esc", "esc") }, false},
		"a menu, then twice":    {func(r *rig) { r.press("/", "esc", "esc", "esc") }, true},
		"a menu behind a word":  {func(r *rig) { r.press("/", "s", "esc", "esc", "esc") }, false},
		"a question meanwhile":  {func(r *rig) { r.press("esc", "esc"); r.s.open(&question{text: "?"}) }, false},
		"Ctrl+C and Esc":        {func(r *rig) { r.press("ctrl+c", "esc") }, false},
		"Ctrl+C twice":          {func(r *rig) { r.write("x"); r.press("ctrl+c", "ctrl+c") }, true},
		"Ctrl+C too late":       {func(r *rig) { r.press("ctrl+c"); time.Sleep(leaveWithin + time.Millisecond); r.press("ctrl+c") }, false},
		"Ctrl+D":                {func(r *rig) { r.press("ctrl+d") }, true},
		"Ctrl+D in a text":      {func(r *rig) { r.write("x"); r.press("ctrl+d") }, false},
		"/quit":                 {func(r *rig) { r.write("/quit"); r.press("enter") }, true},
		"/quit, from the menu":  {func(r *rig) { r.write("/qu"); r.press("enter") }, true},
		"Ctrl+C, after a while": {func(r *rig) { r.press("ctrl+c", "x", "ctrl+u", "ctrl+c") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, agrees, "")
				time.Sleep(time.Minute)
				test.do(r)
				over := time.Now().Add(leaveWithin)
				r.run(t.Context(), tea.Tick(leaveWithin, func(time.Time) tea.Msg { return noticesMsg(nil) }))
				r.until("it leaves or not", func() bool { return r.quit || !time.Now().Before(over) })
				if r.quit != test.leaves {
					t.Errorf("it leaves: %v\n%s", r.quit, r.screen())
				}
			})
		})
	}
}

// TestHintOfLeavingFades when a second press would not leave any more.
func TestHintOfLeavingFades(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, agrees, "")
		r.press("esc")
		r.update(t.Context(), tickMsg(time.Now().Add(leaveWithin)))
		if !r.shows("Esc again leaves") {
			t.Errorf("it does not say so:\n%s", r.screen())
		}
		r.update(t.Context(), tickMsg(time.Now().Add(leaveWithin+time.Millisecond)))
		if r.shows("again leaves") {
			t.Errorf("it still says so:\n%s", r.screen())
		}
	})
}

// TestCtrlCEndsTheTurn, and leaves at once if it is pressed again.
func TestCtrlCEndsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, hangs, "What is cheap?")
		r.until("ada has answered", func() bool { return r.shows("ada ✓ answered") })
		r.press("ctrl+d", "ctrl+c")
		if r.quit || !r.s.talk.running.ending || !strings.Contains(r.screen(), "Ctrl+C again leaves") {
			t.Errorf("it leaves, or does not end the turn:\n%s", r.screen())
		}
		r.press("ctrl+c")
		r.until("it leaves", func() bool { return r.quit })
	})
}
