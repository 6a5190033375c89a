package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/system/plain"
)

// header stands above the rest of the screen.
type header struct {
	session Session
	talk    *talk
	size    tea.WindowSizeMsg
}

func (s *screen) header() header { return header{s.session, s.talk, s.size} }

// lines returns the session, its agents, its cost and the state of the turn.
func (h header) lines(now time.Time) []string {
	return append(h.panelLines(), h.figures(now), faint(strings.Repeat("─", h.size.Width)))
}

// panelLines name the session and all agents, with their models if there is room. A high screen may use
// several lines.
func (h header) panelLines() []string {
	id, title := plain.Line(h.session.ID), bold("massgen")
	most := min(max(h.size.Height/10, 1), 4)
	full, ids := panelNames(h.session.Agents)
	for _, line := range []string{title + " " + id + full, title + " " + id + ids, id + ids} {
		if ansi.StringWidth(line) <= h.size.Width {
			return []string{line}
		}
	}
	lines := wrapped(title+" "+id+ids, h.size.Width)
	if len(lines) > most {
		cut := strings.Join(lines[most-1:], " ")
		lines = append(lines[:most-1], ansi.Truncate(cut, max(h.size.Width, 1), "…"))
	}
	return lines
}

// panelNames returns the agents with their models, and without. A model of all agents stands once, at
// the end.
func panelNames(agents []Agent) (full, ids string) {
	names, each, isOne := make([]string, len(agents)), make([]string, len(agents)), true
	for i, a := range agents {
		names[i], each[i] = plain.Line(a.ID), plain.Line(a.ID+" ("+a.Model+")")
		isOne = isOne && a.Model == agents[0].Model
	}
	if len(agents) == 0 {
		return "", ""
	}
	ids, full = faint(" · ")+strings.Join(names, ", "), faint(" · ")+strings.Join(each, ", ")
	if isOne {
		full = ids + faint(" · ") + plain.Line(agents[0].Model)
	}
	return full, ids
}

// figures returns the second part of the header, in the longest form that fits.
func (h header) figures(now time.Time) string {
	in, out := h.session.In, h.session.Out
	cost := "$?"
	usd, isKnown := 0.0, h.session.USD != nil
	if isKnown {
		usd = *h.session.USD
	}
	if h.talk.running != nil && h.talk.shown != nil {
		used := h.talk.shown.Usage
		in, out = in+used.InputTokens, out+used.OutputTokens
		isKnown = isKnown && !used.Unknown().USD
		if used.CostUSD != nil {
			usd += *used.CostUSD
		}
	}
	if isKnown {
		cost = fmt.Sprintf("$%.4f", usd)
	}
	state := h.state()
	if !h.session.isRead {
		return ansi.Truncate(state, h.size.Width, "…")
	}
	if n := h.turn(); n > 0 {
		state += faint(" · ") + fmt.Sprintf("turn %d", n)
	}
	timed := state
	switch {
	case h.talk.shown == nil:
	case h.talk.running != nil:
		state += " · " + seconds(h.talk.shown.Running(now))
		timed = state
	case h.talk.shown.IsOver():
		timed += " · took " + seconds(h.talk.shown.Running(now))
	}
	const roomForTime = 4 // so that the form does not change every second
	room := h.size.Width - roomForTime
	all := []string{plain.Count(h.session.Messages, "message"), fmt.Sprintf("tokens %s in, %s out", thousands(in), thousands(out)), cost, h.context("context ")}
	less := fmt.Sprintf("%s in, %s out", short(in), short(out))
	var line string
	for _, words := range [][]string{
		append([]string{timed}, all...), append([]string{state}, all...),
		{state, all[0], less, cost, h.context("ctx ")},
		{state, fmt.Sprintf("%d msgs", h.session.Messages), less, cost, h.context("ctx ")},
		{state, less, cost, h.context("ctx ")}, {state, less, cost},
	} {
		line = strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), faint(" · "))
		if ansi.StringWidth(line) <= room {
			return line
		}
	}
	return ansi.Truncate(line, h.size.Width, "…")
}

// turn returns the number of the turn under way, or of the last one.
func (h header) turn() int {
	if h.talk.hasTurn() {
		return h.talk.running.turn.Number()
	}
	return h.session.Turn
}

// context returns the size of the fullest agent's context.
func (h header) context(title string) string {
	tokens, window := h.session.Context, h.session.Window
	switch {
	case tokens <= 0:
		return ""
	case window > 0:
		return fmt.Sprintf("%s%s (%d %%)", title, short(tokens), 100*tokens/window)
	}
	return title + short(tokens)
}

// state describes in one word what the panel is doing.
func (h header) state() string {
	switch {
	case !h.session.isRead:
		return "opening"
	case h.talk.running == nil:
		return "ready"
	case h.talk.running.ending:
		return "ending"
	case h.talk.shown.Paused:
		return asAlert("paused")
	}
	return asGood("running")
}
