package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// ownCommands are those of the screen beside the conversation's.
func ownCommands() []Choice {
	return []Choice{
		{"/copy", "copy the last answer"},
		{"/save", "write the last answer to a file: /save FILE"},
		{"/edit", "write the question in $EDITOR: /edit TEXT begins with that; Ctrl+O takes what was typed"},
		{"/retry", "ask the last question again, in a copy of the session"},
	}
}

// commander runs what a person commands.
type commander struct{ *screen }

// helpText lists the commands.
func helpText(commands []Choice) string {
	var b strings.Builder
	for _, c := range slices.Concat(commands, ownCommands()) {
		fmt.Fprintf(&b, "%-12s%s\n", c.Name, c.About)
	}
	return b.String() + "\nEvery other line is a question. ? in an empty line shows the keys."
}

// ownCommand runs a command of the screen, else one of the conversation.
func (s commander) ownCommand(name, rest, line string) tea.Cmd {
	switch name {
	case "/help", "/h":
		s.overlay = newTable("the commands", helpText(s.conv.Commands), len("/help       "))
		return nil
	case "/copy":
		return s.copyAnswer()
	case "/save":
		return s.save(rest)
	case "/edit":
		return s.edit(rest)
	case "/retry":
		return s.retry()
	case "/tools":
		return s.showCommand("the agents' tools", line)
	case "/note":
		if s.running != nil && s.running.turn != nil {
			return s.ask(rest)
		}
	case "/pause", "/resume":
		if s.running != nil && s.running.turn != nil {
			return s.pauseOr(name == "/pause")
		}
	case "/without":
		if s.running != nil && s.running.turn != nil {
			return s.dismiss(rest)
		}
	}
	return s.idleCommand(line)
}

// idleCommand runs a command of the conversation, unless a turn runs.
func (s commander) idleCommand(line string) tea.Cmd {
	if s.running != nil {
		s.transcript.add(told, "", "a turn runs: Esc ends it first")
		return nil
	}
	return s.command(line)
}

// pause pauses the turn, or lets it go on.
func (s commander) pause() tea.Cmd { return s.pauseOr(s.shown != nil && !s.shown.isPaused) }

func (s commander) pauseOr(pause bool) tea.Cmd {
	if s.running == nil || s.running.turn == nil {
		return nil
	}
	turn := s.running.turn
	return s.do(func(ctx context.Context) tea.Msg {
		act := turn.Resume
		if pause {
			act = turn.Pause
		}
		if err := act(ctx); err != nil {
			return errorNote{err}
		}
		return nil
	})
}

// askToDismiss asks whether the turn is to go on without an agent. It reports false if no turn
// runs.
func (s commander) askToDismiss(agent string) (asks bool) {
	if s.running == nil || s.running.turn == nil {
		return false
	}
	s.overlay = &question{"Go on without " + agent + "? Its last answer stays; it is asked no more in this turn.", func() tea.Cmd { return s.dismiss(agent) }}
	return true
}

// dismiss has the turn go on without an agent.
func (s commander) dismiss(agent string) tea.Cmd {
	if s.running == nil || s.running.turn == nil { // it ended while the person was asked
		return nil
	}
	turn := s.running.turn
	return s.do(func(ctx context.Context) tea.Msg {
		if err := turn.Dismiss(ctx, agent); err != nil {
			return errorNote{err}
		}
		return nil
	})
}

// copyAnswer copies the last answer to the clipboard of the terminal (OSC 52).
func (s commander) copyAnswer() tea.Cmd {
	if s.last.answer == "" {
		s.transcript.add(told, "", "there is no answer yet")
		return nil
	}
	copied := func() tea.Cmd {
		s.mood.mayCopy = true
		s.transcript.add(told, "", "the answer was sent to this terminal's clipboard, which some terminals, and tmux, have to allow")
		return tea.SetClipboard(s.last.answer)
	}
	if s.mood.mayCopy {
		return copied()
	}
	s.overlay = &question{"Let massgen write to this terminal's clipboard, now and until it ends?", copied}
	return nil
}

func (s commander) save(path string) tea.Cmd {
	switch {
	case s.last.answer == "":
		s.transcript.add(told, "", "there is no answer yet")
		return nil
	case path == "":
		s.transcript.add(wrong, "", "/save: say to which file: /save FILE")
		return nil
	}
	answer := s.last.answer
	return s.do(func(context.Context) tea.Msg {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			return errorNote{fmt.Errorf("/save: %s is there already: choose another name", path)}
		}
		if err == nil {
			_, err = file.WriteString(strings.TrimSuffix(answer, "\n") + "\n")
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return errorNote{fmt.Errorf("/save: %w", err)}
		}
		return outcomeMsg{Outcome: Outcome{Text: "the answer is in " + path}}
	})
}

// edit opens $EDITOR with a text, and takes what it leaves.
func (s commander) edit(text string) tea.Cmd {
	editor := strings.Fields(s.mood.editor)
	if len(editor) == 0 {
		editor = []string{"vi"}
	}
	file, err := os.CreateTemp("", "massgen-*.md")
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		s.transcript.add(wrong, "", "/edit: "+err.Error())
		return nil
	}
	path := file.Name()
	command := exec.Command(editor[0], append(editor[1:], path)...)
	if terminal, ok := s.mood.keyboard.(*os.File); ok {
		command.Stdin = terminal
	}
	return tea.Exec(outside{command}, func(err error) tea.Msg {
		data, readErr := os.ReadFile(path)
		if err = errors.Join(err, readErr, os.Remove(path)); err != nil {
			return errorNote{fmt.Errorf("/edit: %w", err)}
		}
		return editedMsg(strings.TrimRight(string(data), "\n"))
	})
}

// outside is a command that has the terminal to itself.
type outside struct{ *exec.Cmd }

// Run implements tea.ExecCommand. The library stops the clock of its frames in a goroutine of its own,
// and starts it when the command has ended: for one that ends at once it may do so too early, and draw
// nothing from then on.
func (c outside) Run() error {
	const least = 200 * time.Millisecond
	over := time.After(least)
	err := c.Cmd.Run()
	<-over
	return err
}

// SetStdin implements tea.ExecCommand: what the screen reads is no terminal to an editor.
func (c outside) SetStdin(in io.Reader) {
	if c.Stdin == nil {
		c.Stdin = in
	}
}

// SetStdout implements tea.ExecCommand.
func (c outside) SetStdout(out io.Writer) { c.Stdout = out }

// SetStderr implements tea.ExecCommand.
func (c outside) SetStderr(out io.Writer) { c.Stderr = out }

// editedMsg is what an editor left.
type editedMsg string

// retry asks the last question again in a copy of the session as it was before.
func (s commander) retry() tea.Cmd {
	if s.running != nil {
		return s.idleCommand("")
	}
	return s.do(func(ctx context.Context) tea.Msg {
		turns, err := s.conv.Past(ctx)
		if err != nil {
			return errorNote{fmt.Errorf("/retry: %w", err)}
		}
		if len(turns) == 0 {
			return errorNote{errors.New("/retry: there is no question yet")}
		}
		last, line := turns[len(turns)-1], fmt.Sprintf("/branch %d", len(turns)-1)
		if len(turns) == 1 {
			line = "/new"
		}
		outcome, err := s.conv.Command(ctx, line)
		if err != nil {
			return errorNote{fmt.Errorf("/retry: %w", err)}
		}
		outcome.Question = last.Question
		return movedMsg{outcome}
	})
}
