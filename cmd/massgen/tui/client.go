package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// worker runs f beside the screen, under the context of Run, and passes its message to the screen.
type worker func(f func(ctx context.Context) tea.Msg) tea.Cmd

// client calls the functions of a Conversation beside the screen.
type client struct {
	Conversation
	do worker
}

// run calls f beside the screen, and passes on its message or its error.
func (c client) run(f func(ctx context.Context) (tea.Msg, error)) tea.Cmd {
	return c.do(func(ctx context.Context) tea.Msg {
		msg, err := f(ctx)
		if err != nil {
			return errorNote{err}
		}
		return msg
	})
}

// readSession reads the session for the header.
func (c client) readSession() tea.Msg {
	return c.do(func(ctx context.Context) tea.Msg { return sessionMsg{c.Session(ctx), c.Notices()} })()
}

// readNotices reads the remarks and warnings that came while a turn runs.
func (c client) readNotices() tea.Msg {
	return c.do(func(context.Context) tea.Msg { return noticesMsg(c.Notices()) })()
}

// readPast reads the turns for a page of the transcript.
func (c client) readPast(page int) tea.Cmd {
	return c.run(func(ctx context.Context) (tea.Msg, error) {
		turns, err := c.Past(ctx)
		return pastMsg{page, turns}, about("read the session", err)
	})
}

// readSessions lists the sessions for the picker, which searches for a word.
func (c client) readSessions(word string) tea.Cmd { return c.readSessionsAt(word, 0) }

// readSessionsAt is readSessions with the line that is chosen first.
func (c client) readSessionsAt(word string, at int) tea.Cmd {
	return c.run(func(ctx context.Context) (tea.Msg, error) {
		list, next, err := c.Sessions(ctx, "")
		return sessionsMsg{list, next, word, at}, err
	})
}

// readCalls lists the calls of the session, to show the last call of an agent.
func (c client) readCalls(agent string) tea.Cmd {
	return c.run(func(ctx context.Context) (tea.Msg, error) {
		calls, err := c.Calls(ctx)
		return callsMsg{calls, agent}, about("show the inputs", err)
	})
}

// show shows the output of a command in a pager. An error of another command than name is reported as one of name.
func (c client) show(title, line, name string) tea.Cmd {
	return c.run(func(ctx context.Context) (tea.Msg, error) {
		outcome, err := c.Command(ctx, line)
		if first, _, _ := strings.Cut(line, " "); err != nil && first != name {
			err = errors.New(name + strings.TrimPrefix(err.Error(), first))
		}
		return pagerMsg{title, outcome.Text}, err
	})
}

// command runs a line that begins with a slash, in the session before.
func (c client) command(before, line string) tea.Cmd {
	return c.run(func(ctx context.Context) (tea.Msg, error) {
		outcome, err := c.Command(ctx, line)
		if err == nil && c.Session(ctx).ID != before {
			return movedMsg{outcome, ""}, nil
		}
		return outcomeMsg{outcome, line}, err
	})
}

// about adds to an error what failed.
func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
