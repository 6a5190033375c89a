package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// Call is a model call of the session. Name is its place in a dump, such as turn-001/ada/call-002.
type Call struct{ Name, Agent, About string }

// Input is the input of a call, and its difference from the agent's input before.
type Input struct{ Text, Difference string }

// inputViewer shows the exact input of a call, or its difference, and goes on to other calls.
type inputViewer struct {
	screen  *screen
	calls   []Call // of one agent or of all agents, oldest first
	at      int
	input   Input
	differs bool // the difference is shown
	page    *pager
}

type (
	callsMsg struct {
		calls []Call
		agent string // shows the agent's last call at once; "" lets the person choose
	}
	inputMsg struct {
		viewer *inputViewer
		at     int
		input  Input
	}
)

func (s *screen) showCalls(msg callsMsg) tea.Cmd {
	if msg.agent != "" {
		msg.calls = slices.DeleteFunc(slices.Clone(msg.calls), func(c Call) bool { return c.Agent != msg.agent })
	}
	if len(msg.calls) == 0 {
		s.transcript.add(told, "", "no model call is kept yet")
		return nil
	}
	if msg.agent != "" {
		return (&inputViewer{screen: s, calls: msg.calls}).read(len(msg.calls) - 1)
	}
	var list []Choice
	for _, c := range slices.Backward(msg.calls) {
		list = append(list, Choice{Name: c.Name, About: c.About})
	}
	s.open(newPicker("What the models were sent: Enter shows an input", list, func(name string) tea.Cmd {
		at := slices.IndexFunc(msg.calls, func(c Call) bool { return c.Name == name })
		return (&inputViewer{screen: s, calls: msg.calls}).read(at)
	}))
	return nil
}

// read reads the input of a call.
func (v *inputViewer) read(at int) tea.Cmd {
	return v.screen.conv.run(func(ctx context.Context) (tea.Msg, error) {
		input, err := v.screen.conv.Input(ctx, v.calls[at].Name)
		return inputMsg{v, at, input}, about("show the input of "+v.calls[at].Name, err)
	})
}

// take shows an input, unless the person has closed the viewer while it was read.
func (v *inputViewer) take(msg inputMsg) {
	isNew := v.page == nil
	v.at, v.input = msg.at, Input{v.screen.conv.Redact(msg.input.Text), v.screen.conv.Redact(msg.input.Difference)}
	v.lay()
	if isNew {
		v.screen.open(v)
	}
}

// lay makes the page for the current call.
func (v *inputViewer) lay() {
	v.page = newPager("input of "+v.calls[v.at].Name, v.input.Text)
	v.page.keys = "d what is new · ←→ others · Esc closes"
	if v.differs {
		v.page = newPager("new in "+v.calls[v.at].Name, v.input.Difference)
		v.page.keys, v.page.paint = "d all of it · ←→ others · Esc closes", paintDifference
	}
}

func (v *inputViewer) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "d":
		v.differs = !v.differs
		v.lay()
		return v, nil
	case "right", "left", "tab", "shift+tab":
		at := v.at + 1
		if name := msg.String(); name == "left" || name == "shift+tab" {
			at = v.at - 1
		}
		if at < 0 || at >= len(v.calls) {
			return v, nil
		}
		return v, v.read(at)
	}
	if next, cmd := v.page.press(msg); next != nil {
		return v, cmd
	}
	return nil, nil
}

func (v *inputViewer) view(width, height int) []string { return v.page.view(width, height) }
