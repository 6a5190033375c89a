package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/signs"
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
	return append(h.panelLines(), h.figures(now), asRule(strings.Repeat("─", h.size.Width)))
}

// panelLines name the session by its title, and all agents, with their models if there is room. A high screen may use
// two lines.
func (h header) panelLines() []string {
	const leastTitle = 24
	width := h.size.Width
	title := h.title()
	const rowsOfLine = 20 // of the screen, for a line of names
	most := min(max(h.size.Height/rowsOfLine, 1), 2)
	full, ids, short := panelNames(h.session.Agents)
	for _, names := range []string{full, ids} {
		if room := width - ansi.StringWidth(names); room >= min(ansi.StringWidth(title), leastTitle) {
			return []string{asTitle(ansi.Truncate(title, room, "…")) + names}
		}
	}
	lines := append([]string{asTitle(ansi.Truncate(title, width, "…"))}, wrapped(strings.TrimPrefix(ids, faint(" · ")), width)...)
	if len(lines) <= most {
		return lines
	}
	room := max(width-ansi.StringWidth(short), min(width, leastTitle)) // the boxes have the names
	return []string{ansi.Truncate(asTitle(ansi.Truncate(title, room, "…"))+short, width, "…")}
}

// title returns the title of the session. A session has none before its first question is kept.
func (h header) title() string {
	if h.session.Title != "" {
		return plain.Line(h.session.Title)
	}
	if question := h.talk.transcript.first(asked); question != "" {
		return question
	}
	return "New session"
}

// panelNames returns the agents with their models, without, and as signs. A model of all agents stands once, at the end.
func panelNames(agents []Agent) (full, ids, short string) {
	names, each, isOne := make([]string, len(agents)), make([]string, len(agents)), true
	for i, a := range agents {
		names[i] = signs.Signed(i, plain.Line(a.ID), true)
		each[i] = names[i] + faint(plain.Line(" ("+a.Model+")"))
		isOne = isOne && a.Model == agents[0].Model
		short += asAgent(i)(signs.Of(i))
	}
	if len(agents) == 0 {
		return "", "", ""
	}
	ids, full = faint(" · ")+strings.Join(names, ", "), faint(" · ")+strings.Join(each, ", ")
	if isOne {
		full = ids + faint(" · "+plain.Line(agents[0].Model))
	}
	return full, ids, faint(" · ") + plain.Count(len(agents), "agent") + " " + short
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
		state += faint(" · ") + seconds(h.talk.shown.Running(now))
		timed = state
	case h.talk.shown.IsOver():
		timed += faint(" · ") + "took " + seconds(h.talk.shown.Running(now))
	}
	const roomForTime = 4 // so that the form does not change every second
	room := h.size.Width - roomForTime
	tokens, less := fmt.Sprintf("tokens %s in, %s out", plain.Thousands(in), plain.Thousands(out)), fmt.Sprintf("%s in, %s out", short(in), short(out))
	if in+out == 0 && h.session.Messages > 0 && h.talk.running == nil { // the service reports none
		tokens, less = "tokens unknown", "tokens unknown"
	}
	all := []string{plain.Count(h.session.Messages, "message"), tokens, cost, h.context("context ")}
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
		return asGood("ready")
	case h.talk.running.ending:
		return "ending"
	case h.talk.shown.Paused:
		return asAlert("paused")
	}
	return asGood("running")
}
