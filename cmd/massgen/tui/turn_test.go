package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen"
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
		report.TextDelta{Actor: actor("ada", 1), Text: "Wind is "}, report.TextDelta{Actor: actor("ada", 1), Text: "cheap.\nAnd \x1b[2Jclean."},
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
	s := newTurnState([]string{"ada", "bob"}, began)
	var b strings.Builder
	for _, ev := range aTurn(began) {
		s.apply(ev)
		now := ev.Head().At
		fmt.Fprintf(&b, "== %s\n", ev.Head().Kind)
		for _, width := range []int{60, 40} {
			for _, line := range s.panes(width, 5, 0, false, now, asIs) {
				fmt.Fprintln(&b, strings.TrimRight(visible(line), " "))
			}
		}
		for _, line := range s.strip(60, 3) {
			fmt.Fprintln(&b, visible(line))
		}
	}
	used := s.used()
	fmt.Fprintf(&b, "== after %s, %s: %d in, %d out, $%.2f, unknown %t\n", s.elapsed(began), s.status, used.in, used.out, used.usd, used.isUnknown)
	checkGolden(t, "turn", b.String())
}

// TestManyAgentsStreamCheaply: what is kept of a text that goes on does not grow with it.
func TestManyAgentsStreamCheaply(t *testing.T) {
	s := newTurnState([]string{"ada"}, time.Time{})
	for range 500_000 {
		s.apply(report.TextDelta{Actor: actor("ada", 1), Text: "a word\n"})
	}
	text := s.agents[0].text
	if text.size > mostTail || text.dropped+len(text.list) != 500_001 {
		t.Errorf("%d bytes are kept in %d lines, and %d are dropped", text.size, len(text.list), text.dropped)
	}
}

func BenchmarkStream(b *testing.B) {
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprintf("agent%d", i))
	}
	s := newTurnState(ids, time.Time{})
	for b.Loop() { // a second of 20 agents with 200 tokens each, drawn 30 times
		for i := range 4000 {
			s.apply(report.TextDelta{Actor: actor(ids[i%20], 1), Text: " token"})
			if i%133 == 0 {
				s.panes(200, 30, 0, false, time.Time{}, asIs)
			}
		}
	}
}
