package tui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// Call is a model call of the session. Name is its place there, such as turn-001/ada/call-002.
type Call struct{ Name, Agent, About string }

// Input is what a call was sent, and how it differs from what its agent was sent before.
type Input struct{ Text, Difference string }

// inputViewer shows the exact input of a call, or what is new in it, and goes on to others.
type inputViewer struct {
	*screen
	calls   []Call // of one agent, or of all, oldest first
	at      int
	input   Input
	differs bool // the difference is shown
	page    *pager
}

type (
	callsMsg struct {
		calls []Call
		agent string // whose last call is shown at once, "" to let the person choose
	}
	inputMsg struct {
		viewer *inputViewer
		at     int
		input  Input
	}
)

// readCalls lists the calls of the session, and then shows the last one of an agent.
func (s *screen) readCalls(agent string) tea.Cmd {
	return s.do(func(ctx context.Context) tea.Msg {
		calls, err := s.conv.Calls(ctx)
		if err != nil {
			return errorNote{fmt.Errorf("show the inputs: %w", err)}
		}
		return callsMsg{calls, agent}
	})
}

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
	return v.do(func(ctx context.Context) tea.Msg {
		input, err := v.conv.Input(ctx, v.calls[at].Name)
		if err != nil {
			return errorNote{fmt.Errorf("show the input of %s: %w", v.calls[at].Name, err)}
		}
		return inputMsg{v, at, input}
	})
}

// take shows an input, unless the person has closed the viewer while it was read.
func (v *inputViewer) take(msg inputMsg) {
	isNew := v.page == nil
	v.at, v.input = msg.at, Input{v.conv.Redact(msg.input.Text), v.conv.Redact(msg.input.Difference)}
	v.lay()
	if isNew {
		v.open(v)
	}
}

// lay makes the page of what is to be shown.
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
