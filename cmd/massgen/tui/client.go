package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// worker runs f beside the screen, under the context of Run, and passes its message to the screen.
type worker func(f func(ctx context.Context) tea.Msg) tea.Cmd

// client calls the functions of a Conversation beside the screen.
type client struct {
	Conversation
	do worker
}

// readSession reads the session for the header.
func (c client) readSession() tea.Msg {
	return c.do(func(ctx context.Context) tea.Msg { return sessionMsg{c.Session(ctx), c.Notices()} })()
}

// readPast reads the turns for a page of the transcript.
func (c client) readPast(page int) tea.Cmd {
	return c.do(func(ctx context.Context) tea.Msg {
		turns, err := c.Past(ctx)
		if err != nil {
			return errorNote{fmt.Errorf("read the session: %w", err)}
		}
		return pastMsg{page, turns}
	})
}

// readSessions lists the sessions for the picker.
func (c client) readSessions() tea.Cmd {
	return c.do(func(ctx context.Context) tea.Msg {
		list, err := c.Sessions(ctx)
		if err != nil {
			return errorNote{err}
		}
		return sessionsMsg{list}
	})
}

// readCalls lists the calls of the session, to show the last call of an agent.
func (c client) readCalls(agent string) tea.Cmd {
	return c.do(func(ctx context.Context) tea.Msg {
		calls, err := c.Calls(ctx)
		if err != nil {
			return errorNote{fmt.Errorf("show the inputs: %w", err)}
		}
		return callsMsg{calls, agent}
	})
}

// show shows the output of a command in a pager.
func (c client) show(title, line string) tea.Cmd {
	return c.do(func(ctx context.Context) tea.Msg {
		outcome, err := c.Command(ctx, line)
		if err != nil {
			return errorNote{err}
		}
		return pagerMsg{title, outcome.Text}
	})
}

// command runs a line that begins with a slash, in the session before.
func (c client) command(before, line string) tea.Cmd {
	return c.do(func(ctx context.Context) tea.Msg {
		outcome, err := c.Command(ctx, line)
		if err != nil {
			return errorNote{err}
		}
		if c.Session(ctx).ID != before {
			return movedMsg{outcome}
		}
		return outcomeMsg{outcome, line}
	})
}
