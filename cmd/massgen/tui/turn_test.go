package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
)

// events returns the events of a turn of two agents, one each second.
func events(at time.Time, list ...massgen.Event) []massgen.Event {
	for i, ev := range list {
		list[i] = report.Stamp(ev, at.Add(time.Duration(i)*time.Second), false)
	}
	return list
}

func actor(id string, round int) report.Actor { return report.Actor{Agent: id, Round: round} }

func end(id string, round int) report.StepEnd {
	return report.StepEnd{Actor: actor(id, round), Elapsed: 3 * time.Second}
}

func aTurn(at time.Time) []massgen.Event {
	cost := 0.25
	return events(at,
		report.StepStarted{Actor: actor("ada", 1)}, report.StepStarted{Actor: actor("bob", 1)},
		report.CallStarted{Actor: actor("ada", 1), Number: 1}, report.Thinking{Actor: actor("ada", 1), Text: "wind or"},
		report.TextDelta{Actor: actor("ada", 1), Text: "I see. "}, report.TextDelta{Actor: actor("ada", 1), Act: "new_answer", Text: "Wind is "},
		report.Retrying{Actor: actor("ada", 1), Why: "the stream was cut", Wait: time.Second},
		report.TextDelta{Actor: actor("ada", 1), Act: "new_answer", Text: "cheap.\nAnd \x1b[2Jclean."},
		report.ToolCalled{Actor: actor("bob", 1), Tool: "read_file"}, report.Noted{Text: "in French"},
		report.CallEnded{Actor: actor("ada", 1), Usage: budget.Usage{Calls: 1, InputTokens: 10, OutputTokens: 20, CostUSD: &cost}},
		report.Answered{StepEnd: end("ada", 1), Label: "ada.1", Content: "Wind."},
		report.Failed{StepEnd: end("bob", 1), Reason: "refused:\nthe key is wrong"},
		report.StepStarted{Actor: actor("ada", 2)}, report.CallStarted{Actor: actor("ada", 2), Number: 1},
		report.Voted{StepEnd: end("ada", 2), Label: "ada.1", Reason: "the only one"},
		report.Ended{Status: "completed"},
	)
}

func asIs(text string) string { return text }

// TestTurnStateIsDrawn shows the agents of a turn after each event at two widths.
func TestTurnStateIsDrawn(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := report.NewState("ada", "bob")
	var b strings.Builder
	var shown panes
	for _, ev := range aTurn(began) {
		s.Apply(ev)
		now := ev.Head().At
		fmt.Fprintf(&b, "== %s\n", ev.Head().Kind)
		for _, width := range []int{60, 40} {
			for _, line := range shown.draw(s, width, 5, -1, drawing{now: now, redact: asIs, drawer: markdown.NewDrawer(false)}) {
				fmt.Fprintln(&b, strings.TrimRight(visible(line), " "))
			}
		}
		for _, line := range append(strip(s, 60, 3), standing(s, now, 60)) {
			fmt.Fprintln(&b, visible(line))
		}
	}
	fmt.Fprintf(&b, "== after %s, %s\n", s.Running(began), s.Status)
	checkGolden(t, "turn", b.String())
}

func BenchmarkStream(b *testing.B) {
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprintf("agent%d", i))
	}
	s := report.NewState(ids...)
	for _, id := range ids {
		s.Apply(report.StepStarted{Actor: actor(id, 1)})
	}
	var shown panes
	drawer := markdown.NewDrawer(true)
	for b.Loop() { // a second of 20 agents with 200 tokens each, drawn 30 times
		for i := range 4000 {
			s.Apply(report.TextDelta{Actor: actor(ids[i%20], 1), Text: " token"})
			if i%133 == 0 {
				shown.draw(s, 200, 60, -1, drawing{redact: asIs, drawer: drawer})
			}
		}
	}
}

// TestWhatHappenedIsFolded: a turn that is over leaves a line in place of its sentences, but for warnings. Ctrl+X opens
// them, and tool calls with their results. An agent page that is open follows.
func TestWhatHappenedIsFolded(t *testing.T) {
	r := start(t, agrees, "")
	tool := report.ToolCall{Name: "read_file", Arguments: `{"path":"a.txt"}`, Result: "wind 40\nsun sk-secret"}
	r.s.talk.running = &running{}
	for _, ev := range events(time.Now(),
		report.StepStarted{Actor: actor("ada", 1)}, report.ToolStarted{Actor: actor("ada", 1), Call: "1", Tool: tool},
		report.ToolEnded{Actor: actor("ada", 1), Call: "1", Tool: tool, Elapsed: time.Second}, report.Paused{}, report.Ended{Status: "completed"},
	) {
		r.s.talk.shown.Apply(ev)
	}
	r.s.talk.tellNews()
	if !r.shows("ada ran read_file") || r.shows("wind 40") {
		t.Errorf("while the turn runs:\n%s", r.screen())
	}
	r.s.talk.conclude(massgen.Result{Answer: "Wind.", Winner: "ada", Status: "completed"})
	if r.shows("ada ran read_file") || !r.shows("the turn is paused") || !r.shows("▸ 2 lines of progress: Ctrl+X opens") {
		t.Errorf("after the turn:\n%s", r.screen())
	}
	r.press("ctrl+x")
	if !r.shows("ada ran read_file") || !r.shows("│ wind 40") || !r.shows("│ sun ***") || r.shows("▸ 2") {
		t.Errorf("opened:\n%s", r.screen())
	}
	r.press("tab", "enter")
	for _, isOpen := range []bool{true, false} {
		if !r.shows("read_file") || r.shows("│ wind 40") != isOpen || r.shows("sk-secret") {
			t.Errorf("the agent's page, open %v:\n%s", isOpen, r.screen())
		}
		r.press("ctrl+x")
	}
}

// TestEqualFailuresAreToldOnce: while a turn runs, and at its end unless the lines about its result have them. Ctrl+X opens
// each of them. Agents whose failure no sentence has told share a line, too.
func TestEqualFailuresAreToldOnce(t *testing.T) {
	of := func(id string) report.FailedAgent { return report.FailedAgent{Agent: id, Error: "no such host"} }
	for name, test := range map[string]struct {
		result massgen.Result
		want   string // at the end
		count  int    // of the reason, at the end
	}{
		"with an answer":    {massgen.Result{Answer: "Wind.", Winner: "cy", Status: "completed", Failed: []report.FailedAgent{of("ada"), of("bob")}}, "ada, bob failed: no such host", 1},
		"without an answer": {massgen.Result{Status: "completed", Failed: []report.FailedAgent{of("ada"), of("bob")}}, "▸ 3 lines of progress", 0},
		"untold":            {massgen.Result{Answer: "Wind.", Winner: "cy", Status: "completed", Failed: []report.FailedAgent{of("dan"), of("eve")}}, "✗ dan, eve failed: no such host", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, agrees, "")
			r.s.talk.running = &running{}
			for _, ev := range events(time.Now(),
				report.StepStarted{Actor: actor("ada", 1)}, report.Failed{StepEnd: end("ada", 1), Reason: "no such host"}, report.Failed{StepEnd: end("bob", 1), Reason: "no such host"},
				report.Ended{Status: "completed"},
			) {
				r.s.talk.shown.Apply(ev)
			}
			r.s.talk.tellNews()
			told := func() int {
				return strings.Count(strings.Join(r.s.transcript.at.view(r.s.transcript, 100), "\n"), "no such host")
			}
			if told() != 1 || !r.shows("ada, bob failed: no such host") {
				t.Errorf("while the turn runs:\n%s", r.screen())
			}
			r.s.talk.conclude(test.result)
			if told() != test.count || !r.shows(test.want) {
				t.Errorf("at the end:\n%s", r.screen())
			}
			r.press("ctrl+x")
			if !r.shows("ada failed: no such host") || !r.shows("bob failed: no such host") {
				t.Errorf("opened:\n%s", r.screen())
			}
		})
	}
}

// TestLogIsShown beside the turn whose events it is about.
func TestLogIsShown(t *testing.T) {
	p := newPanel(t, agrees)
	r := startOn(t, p, "")
	r.s.talk.conv.Follow = func(_ *report.State, ev massgen.Event) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if ev.Head().Kind == "voted" {
			p.notices = append(p.notices, "level=DEBUG msg=voted")
		}
		return ev.Head().Kind == "voted"
	}
	r.write("What is cheap?")
	r.press("enter")
	r.until("the log is shown", func() bool { return r.shows("level=DEBUG msg=voted") })
	r.until("the turn is over", r.idle)
	if !r.shows("winner: ada") {
		t.Errorf("what the turn took is not shown:\n%s", r.screen())
	}
}

// TestAgentsAreThereBeforeTheFirstTurn, and idle.
func TestAgentsAreThereBeforeTheFirstTurn(t *testing.T) {
	r := start(t, agrees, "")
	if !r.shows("● ada, ▲ bob") {
		t.Errorf("the agents are not named:\n%s", r.screen())
	}
	r.press("tab")
	if !r.shows("● ada ○ idle") || !r.shows("▲ bob ○ idle") {
		t.Errorf("they are not idle:\n%s", r.screen())
	}
}

// TestDroppedNewsAreNotToldAgain shows a sentence once also if the state drops sentences that were not shown.
func TestDroppedNewsAreNotToldAgain(t *testing.T) {
	r := start(t, agrees, "")
	talk := r.s.talk
	talk.running = &running{}
	apply := func(list ...massgen.Event) {
		for _, ev := range events(time.Now(), list...) {
			talk.shown.Apply(ev)
		}
	}
	text := func() (all string) {
		for _, b := range talk.transcript.blocks {
			all += b.text + "\n"
		}
		return all
	}
	const before, after = 10, 2500
	for range before {
		apply(report.Paused{})
	}
	talk.tellNews()
	apply(report.Noted{Text: "a dropped note"})
	for range after {
		apply(report.Unpaused{})
	}
	apply(report.Noted{Text: "in French"}, report.Paused{})
	talk.tellNews()
	kept := len(talk.shown.News)
	all := text()
	if n := strings.Count(all, "and goes on"); n != kept-2 {
		t.Errorf("%d sentences are shown, of %d", n, kept-2)
	}
	if n := strings.Count(all, "the turn is paused"); n != before+1 {
		t.Errorf("the first sentences are shown %d times, want %d", n, before+1)
	}
	if strings.Count(all, "in French") != 1 || strings.Contains(all, "a dropped note") {
		t.Errorf("the notes are not those of their sentences:\n%s", all[max(len(all)-200, 0):])
	}
}

// TestTextLeavesTheNewsAlone makes nothing anew for events without a sentence.
func TestTextLeavesTheNewsAlone(t *testing.T) {
	r := start(t, agrees, "")
	made := 0
	r.s.talk.conv.Redact = func(text string) string { made++; return text }
	r.s.talk.running = &running{}
	for i, ev := range events(time.Now(),
		report.StepStarted{Actor: actor("ada", 1)}, report.TextDelta{Actor: actor("ada", 1), Text: "Wind"},
		report.StepStarted{Actor: actor("bob", 1)},
	) {
		before := made
		r.s.talk.shown.Apply(ev)
		r.s.talk.tellNews()
		if isNew := i != 1; made > before != isNew {
			t.Errorf("%s: %d texts were made", ev.Head().Kind, made-before)
		}
	}
}
