package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// agentPage shows the whole text of an agent, and follows it while it grows.
type agentPage struct {
	turn *report.State
	id   string
	drawing
	at     position
	seen   int // the dropped pieces of the text at the last drawing
	width  int
	height int
}

func newAgentPage(turn *report.State, id string, d drawing) *agentPage {
	return &agentPage{turn: turn, id: id, drawing: d, width: 1, height: 1}
}

func (p *agentPage) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	text := p.text()
	switch msg.String() {
	case "esc", "q", "ctrl+c", "enter":
		return nil, nil
	case "up", "k":
		p.at.move(text, 1, p.height)
	case "down", "j":
		p.at.move(text, -1, p.height)
	case "pgup", "b":
		p.at.move(text, p.height, p.height)
	case "pgdown", "f", "space":
		p.at.move(text, -p.height, p.height)
	case "u", "ctrl+u":
		p.at.move(text, p.height/2, p.height)
	case "d", "ctrl+d":
		p.at.move(text, -p.height/2, p.height)
	case "home", "g":
		p.at.toStart(text, p.height)
	case "end", "G":
		p.at.toEnd()
	}
	return p, nil
}

// text returns the agent's current text. The screen keeps its place when the beginning of a long text is
// dropped.
func (p *agentPage) text() laidText {
	a := p.turn.Agent(p.id)
	p.at.bottom = max(p.at.bottom-(a.Dropped-p.seen), 0)
	p.seen = a.Dropped
	return laidText{a, p.width, p.drawing}
}

func (p *agentPage) view(width, height int) []string {
	p.width, p.height = width, max(height-1, 1)
	text := p.text()
	title := fmt.Sprintf(" %s   Esc closes, arrows scroll, Ctrl+X tool calls", plain.Line(p.id))
	if text.agent.Dropped > 0 {
		title += "   its beginning is not kept here"
	}
	lines := []string{chosen(padded(ansi.Truncate(title, width, "…"), width))}
	lines = append(lines, p.at.view(text, p.height)...)
	return append(lines, blank(height-len(lines))...)
}
