package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/signs"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// place returns the place of an agent in the panel, -1 for an unknown one.
func place(s *report.State, id string) int {
	return slices.IndexFunc(s.Agents, func(a report.AgentState) bool { return a.ID == id })
}

// signed returns a text about an agent after its sign, in its colour.
func signed(s *report.State, id, text string) string {
	return signs.Signed(place(s, id), plain.Line(text), true)
}

// standing draws a running turn in one line: who leads, and who is waited for until when. It is "" before somebody has
// answered or waits for a person.
func standing(s *report.State, now time.Time, width int) string {
	if s.IsOver() || s.IsAlone() {
		return ""
	}
	var parts []string
	if leads := leading(s); leads != "" {
		parts = append(parts, leads)
	}
	parts = append(parts, awaited(s, now)...)
	line := " " + strings.Join(parts, faint(" · "))
	if len(parts) == 0 {
		return ""
	}
	return ansi.Truncate(line, width, "…")
}

// author returns the agent that has given an answer.
func author(s *report.State, label string) string {
	for _, act := range s.Acts {
		if act.Label == label && act.Phase != step.PhaseVoted {
			return act.Agent
		}
	}
	return ""
}

// leading says which answers have the most votes, "" before the first vote.
func leading(s *report.State) string {
	if s.Lead == nil {
		return ""
	}
	var names []string
	for _, label := range s.Lead.Labels {
		names = append(names, signed(s, author(s, label), label))
	}
	verb := " leads with "
	if len(names) > 1 {
		verb = " lead with "
	}
	return strings.Join(names, ", ") + verb + fmt.Sprintf("%d of %s", s.Lead.Votes, plain.Count(s.Lead.All, "vote"))
}

// awaited says who is waited for, if others are done or a person is to answer.
func awaited(s *report.State, now time.Time) (parts []string) {
	const mostNames = 4
	var names []string
	isAnyDone := false
	for i := range s.Agents {
		switch a := &s.Agents[i]; {
		case a.Phase == step.PhaseAskingPerson:
			parts = append(parts, signed(s, a.ID, a.ID)+asAlert(" waits for you: "+plain.Line(a.Detail)))
		case a.Phase.IsBusy():
			names = append(names, signed(s, a.ID, a.ID))
		case a.Phase == step.PhaseAnswered || a.Phase == step.PhaseVoted || a.Phase == step.PhaseFailed:
			isAnyDone = true
		}
	}
	if len(names) == 0 || !isAnyDone {
		return parts
	}
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], fmt.Sprintf("%d more", more))
	}
	wait := "waiting for " + strings.Join(names, ", ")
	if !s.Awaited.IsZero() {
		wait += " until " + s.Awaited.Local().Format(time.TimeOnly)
		if left := s.Awaited.Sub(now); left > 0 && !now.IsZero() {
			wait += ", " + seconds(left) + " left"
		}
	}
	return append(parts, wait)
}

// strip draws the answers and votes of each round in at most height lines, the newest rounds.
func strip(s *report.State, width, height int) []string {
	byRound := map[int][]report.Act{}
	last := 0
	for _, act := range s.Acts {
		if act.Label != "" && !act.Final {
			byRound[act.Round] = append(byRound[act.Round], act)
			last = max(last, act.Round)
		}
	}
	var lines []string
	for round := 1; round <= last; round++ {
		acts := byRound[round]
		if len(acts) == 0 {
			continue
		}
		slices.SortStableFunc(acts, func(a, b report.Act) int { return place(s, a.Agent) - place(s, b.Agent) })
		title := fmt.Sprintf(" round %d", round)
		words := []string{faint(title)}
		for _, act := range acts {
			words = append(words, signed(s, act.Agent, act.Agent)+actOf(s, act))
		}
		line := strings.Join(words, "  ")
		if ansi.StringWidth(line) > width {
			line = faint(title) + "  " + summed(s, acts)
		}
		lines = append(lines, ansi.Truncate(line, width, "…"))
	}
	return lines[max(len(lines)-height, 0):]
}

// actOf returns an answer or a vote in words.
func actOf(s *report.State, act report.Act) string {
	if act.Phase != step.PhaseVoted {
		return " ✓ " + plain.Line(act.Label)
	}
	if act.Void != "" {
		return faint(" → " + plain.Line(act.Label) + " (void)")
	}
	return " → " + asAgent(place(s, author(s, act.Label)))(plain.Line(act.Label))
}

// summed returns how many answers a round has, and how many votes for which answer.
func summed(s *report.State, acts []report.Act) string {
	answers, void := 0, 0
	forLabel := map[string]int{}
	for _, act := range acts {
		switch {
		case act.Phase != step.PhaseVoted:
			answers++
		case act.Void != "":
			void++
		default:
			forLabel[act.Label]++
		}
	}
	var words []string
	if answers > 0 {
		words = append(words, plain.Count(answers, "answer"))
	}
	labels := sortedKeys(forLabel)
	slices.SortStableFunc(labels, func(a, b string) int { return forLabel[b] - forLabel[a] })
	for _, label := range labels {
		words = append(words, fmt.Sprintf("%d → %s", forLabel[label], signed(s, author(s, label), label)))
	}
	if void > 0 {
		words = append(words, faint(plain.Count(void, "void vote")))
	}
	return strings.Join(words, "  ")
}

// actsOf returns the answers and votes of an agent in words. "won" stands behind the last answer of the winner, and "voted" before
// votes that follow one another.
func actsOf(s *report.State, agent string, hasWon bool) string {
	var words []string
	last := -1
	for _, act := range s.Acts {
		verb := " · voted "
		if last < len(words)-1 { // behind another vote
			verb = ", "
		}
		switch {
		case act.Agent != agent || act.Label == "" || act.Final:
			continue
		case act.Phase != step.PhaseVoted:
			last = len(words)
			words = append(words, " ✓ "+plain.Line(act.Label))
		case act.Void != "":
			words = append(words, faint(verb+plain.Line(act.Label)+" (void)"))
		default:
			words = append(words, faint(verb)+asAgent(place(s, author(s, act.Label)))(plain.Line(act.Label)))
		}
	}
	switch {
	case hasWon && last < 0:
		words = append(words, asAlert(" won"))
	case hasWon:
		words[last] += asAlert(" won")
	}
	return strings.Join(words, "")
}

// folded draws a turn that is over, a line for each agent: its answers and votes in their order, and what it took. It
// returns a function of the width, which keeps nothing of the turn's texts.
func folded(s *report.State, winner string) func(width int) []string {
	type row struct{ name, acts, took string }
	var rows []row
	wide := 0
	for i := range s.Agents {
		a := &s.Agents[i]
		r := row{name: strongAgent(i)(signs.Of(i) + " " + plain.Line(a.ID))}
		r.acts = actsOf(s, a.ID, a.ID == winner)
		switch a.Phase {
		case step.PhaseAnswered, step.PhaseVoted:
		default:
			r.acts += paintAs(a.Phase)(" " + markOf(a.Phase) + " " + doing(a))
		}
		if a.Usage.Calls > 0 {
			r.took = a.Usage.Words()
		}
		wide = max(wide, ansi.StringWidth(r.name))
		rows = append(rows, r)
	}
	return func(width int) (lines []string) {
		const indent = "  "
		for _, r := range rows {
			line := indent + padded(r.name, min(wide, width/3)) + " " + r.acts
			if took := "  " + faint(r.took); r.took != "" && ansi.StringWidth(line+took) <= width {
				line = padded(line, width-ansi.StringWidth(took)) + took
			}
			lines = append(lines, ansi.Truncate(line, width, "…"))
		}
		return lines
	}
}
