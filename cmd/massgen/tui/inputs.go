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
		return s.openInput(msg.calls, len(msg.calls)-1, false)
	}
	var list []Choice
	for _, c := range slices.Backward(msg.calls) {
		list = append(list, Choice{Name: c.Name, About: c.About})
	}
	s.open(newPicker("What the models were sent: Enter shows an input", list, func(name string) tea.Cmd {
		at := slices.IndexFunc(msg.calls, func(c Call) bool { return c.Name == name })
		return s.openInput(msg.calls, at, false)
	}))
	return nil
}

// openInput reads the input of a call, and shows it.
func (s *screen) openInput(calls []Call, at int, differs bool) tea.Cmd {
	v := &inputViewer{screen: s, calls: calls, at: at, differs: differs}
	return s.do(func(ctx context.Context) tea.Msg {
		input, err := s.conv.Input(ctx, calls[at].Name)
		if err != nil {
			return errorNote{fmt.Errorf("show the input of %s: %w", calls[at].Name, err)}
		}
		return inputMsg{v, input}
	})
}

func (v *inputViewer) take(input Input) {
	v.input = Input{v.conv.Redact(input.Text), v.conv.Redact(input.Difference)}
	v.lay()
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
		return v, v.openInput(v.calls, at, v.differs)
	}
	if next, cmd := v.page.press(msg); next != nil {
		return v, cmd
	}
	return nil, nil
}

func (v *inputViewer) view(width, height int) []string { return v.page.view(width, height) }
