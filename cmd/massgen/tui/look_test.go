package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator/report"
)

// TestNewAnswerIsShownFromItsBeginning until somebody scrolls, also on another size.
func TestNewAnswerIsShownFromItsBeginning(t *testing.T) {
	r := start(t, agrees, "")
	var long strings.Builder
	for i := range 100 {
		fmt.Fprintf(&long, "Paragraph %03d.\n\n", i)
	}
	r.s.talk.running = &running{}
	r.s.talk.conclude(massgen.Result{Answer: long.String(), Winner: "bob", Status: "completed", Warnings: []string{"a warning"}})
	isAtStart := func() bool {
		return r.shows("▲ bob ───") && r.shows("Paragraph 000.") && !r.shows("Paragraph 099.")
	}
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 40, Height: 12}, {Width: 80, Height: 24}} {
		r.update(t.Context(), size)
		if !isAtStart() {
			t.Errorf("the answer is not shown from its beginning at %v:\n%s", size, r.screen())
		}
	}
	r.press("pgdown")
	if r.shows("Paragraph 000.") {
		t.Errorf("it does not scroll:\n%s", r.screen())
	}
	for range 40 {
		r.press("pgdown")
	}
	if !r.shows("Paragraph 099.") || !r.shows("a warning") {
		t.Errorf("it does not scroll to its end:\n%s", r.screen())
	}
}

// TestMillionLettersAreLaidOutByBlocks: a page of a very long answer lays out a few of its blocks.
func TestMillionLettersAreLaidOutByBlocks(t *testing.T) {
	for name, answer := range map[string]string{
		"paragraphs": strings.Repeat(strings.Repeat("word ", 50)+"\n\n", 4000), "one paragraph": strings.Repeat("word ", 200_000), "code": "```\n" + strings.Repeat("x := 1\n", 150_000) + "```\n",
	} {
		r := start(t, agrees, "")
		r.s.talk.showAnswer(answer, "ada", "completed")
		r.s.transcript.showLast(replied)
		laid := func() (n int) {
			for _, b := range r.s.transcript.blocks {
				if b.width > 0 {
					n++
				}
			}
			return n
		}
		for page := range 20 {
			before := laid()
			_ = r.s.view(time.Time{})
			r.press("pgdown")
			if n := laid() - before; n > 20 {
				t.Fatalf("%s: page %d lays out %d of %d blocks", name, page, n, len(r.s.transcript.blocks))
			}
		}
		r.s.transcript.at.toEnd()
		before := laid()
		_ = r.s.view(time.Time{})
		if n := laid() - before; n > 20 || len(r.s.transcript.blocks) < 50 {
			t.Errorf("%s: the end lays out %d of %d blocks", name, n, len(r.s.transcript.blocks))
		}
	}
}

// TestAgentsShareTheScreen in boxes that have the most room for text, or as lines.
func TestAgentsShareTheScreen(t *testing.T) {
	for _, test := range []struct{ n, width, height, rows, columns int }{
		{3, 80, 14, 1, 3}, {5, 80, 14, 2, 3}, {20, 80, 14, 0, 0}, {20, 120, 25, 5, 4}, {20, 200, 44, 4, 5}, {3, 200, 44, 1, 3}, {1, 40, 5, 1, 1}, {2, 40, 5, 0, 0}, {2, 40, 12, 2, 1},
	} {
		if rows, columns := grid(test.n, test.width, test.height); rows != test.rows || columns != test.columns {
			t.Errorf("%d agents on %dx%d: %d rows of %d, want %d of %d", test.n, test.width, test.height, rows, columns, test.rows, test.columns)
		}
	}
}

// TestWhoLeadsAndIsAwaited tells both, and until when.
func TestWhoLeadsAndIsAwaited(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	s := report.NewState("ada", "bob", "cy")
	apply := func(list ...massgen.Event) string {
		for _, ev := range events(began, list...) {
			s.Apply(ev)
		}
		return visible(standing(s, began.Add(10*time.Second), 120))
	}
	vote := func(id, label string) report.Voted { return report.Voted{StepEnd: end(id, 2), Label: label} }
	for _, step := range []struct {
		got, want string
	}{
		{apply(report.StepStarted{Actor: actor("ada", 1)}, report.StepStarted{Actor: actor("bob", 1)}, report.StepStarted{Actor: actor("cy", 1)}), ""},
		{apply(report.Answered{StepEnd: end("ada", 1), Label: "ada.1"}), " waiting for ▲ bob, ■ cy"},
		{apply(report.Awaited{Within: 30 * time.Second}), " waiting for ▲ bob, ■ cy until 03:04:35, 20s left"},
		{apply(report.Answered{StepEnd: end("bob", 1), Label: "bob.1"}, report.Failed{StepEnd: end("cy", 1), Reason: "x"}), ""},
		{apply(report.StepStarted{Actor: actor("ada", 2)}, report.StepStarted{Actor: actor("bob", 2)}, vote("ada", "bob.1")), " ▲ bob.1 leads with 1 of 1 vote · waiting for ▲ bob"},
		{apply(vote("bob", "ada.1")), " ● ada.1, ▲ bob.1 lead with 1 of 2 votes"},
		{apply(report.StepStarted{Actor: actor("ada", 3)}, report.Answered{StepEnd: end("ada", 3), Label: "ada.2"}), ""},
		{apply(report.StepStarted{Actor: actor("bob", 4)}, report.PermissionRequested{Actor: actor("bob", 4), Tool: report.ToolCall{Name: "write_file"}}), " ▲ bob waits for you: write_file"},
		{apply(report.Ended{Status: "completed"}), ""},
	} {
		if step.got != step.want {
			t.Errorf("got %q, want %q", step.got, step.want)
		}
	}
}
