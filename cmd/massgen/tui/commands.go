package tui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen/internal/system/charset"
)

// ownCommands returns the screen's own commands, which the conversation does not have.
func ownCommands() []Choice {
	return []Choice{
		{"/copy", "copy the last answer"},
		{"/save", "write the last answer to a file: /save FILE"},
		{"/edit", "write the question in $EDITOR: /edit TEXT begins with that; Ctrl+O takes what was typed"},
		{"/retry", "ask the last question again, in a copy of the session"},
	}
}

// helpText lists the commands.
func helpText(commands []Choice) string {
	var b strings.Builder
	for _, c := range slices.Concat(commands, ownCommands()) {
		fmt.Fprintf(&b, "%-12s%s\n", c.Name, c.About)
	}
	return b.String() + "\nEvery other line is a question. ? in an empty line shows the keys."
}

// ownCommand runs a command of the screen, else one of the conversation.
func (s *screen) ownCommand(name, rest, line string) tea.Cmd {
	switch name {
	case "/help", "/h":
		s.overlay = newTable("the commands", helpText(s.conv.Commands), len("/help       "))
		return nil
	case "/copy":
		return s.copyAnswer()
	case "/save":
		return s.talk.save(rest)
	case "/edit":
		return s.edit(rest)
	case "/retry":
		return s.talk.retry()
	case "/tools":
		return s.conv.show("the agents' tools", line)
	case "/note":
		if s.talk.hasTurn() {
			return s.talk.note(rest)
		}
	case "/pause", "/resume":
		if s.talk.hasTurn() {
			return s.talk.pause(name == "/pause")
		}
	case "/without":
		if s.talk.hasTurn() {
			return s.talk.dismiss(rest)
		}
	}
	return s.idleCommand(line)
}

// idleCommand runs a command of the conversation, unless a turn runs.
func (s *screen) idleCommand(line string) tea.Cmd {
	if s.talk.isBusy() {
		return nil
	}
	return s.conv.command(s.session.ID, line)
}

// askToDismiss asks whether the turn should go on without an agent. It reports false if no turn runs.
func (s *screen) askToDismiss(agent string) (asks bool) {
	if !s.talk.hasTurn() {
		return false
	}
	s.overlay = &question{"Go on without " + agent + "? Its last answer stays; it is asked no more in this turn.", func() tea.Cmd { return s.talk.dismiss(agent) }}
	return true
}

// copyAnswer copies the last answer to the clipboard of the terminal (OSC 52).
func (s *screen) copyAnswer() tea.Cmd {
	if s.talk.last.answer == "" {
		s.transcript.add(told, "", "there is no answer yet")
		return nil
	}
	copied := func() tea.Cmd {
		s.mood.mayCopy = true
		s.transcript.add(told, "", "the answer was sent to this terminal's clipboard, which some terminals, and tmux, have to allow")
		return tea.SetClipboard(s.talk.last.answer)
	}
	if s.mood.mayCopy {
		return copied()
	}
	s.overlay = &question{"Let massgen write to this terminal's clipboard, now and until it ends?", copied}
	return nil
}

// edit opens $EDITOR with a text, and puts the edited text into the entry.
func (s *screen) edit(text string) tea.Cmd {
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
		text, textErr := charset.Decode(data)
		if err = errors.Join(err, readErr, textErr, os.Remove(path)); err != nil {
			return errorNote{fmt.Errorf("/edit: %w", err)}
		}
		return editedMsg(strings.TrimRight(text, "\n"))
	})
}

// outside is a command that has the whole terminal.
type outside struct{ *exec.Cmd }

// Run implements tea.ExecCommand. The library stops the clock of its frames in a goroutine of its own,
// and starts it when the command has ended. If the command ends at once, the library may start the
// clock before it stops it, and then draws nothing more.
func (c outside) Run() error {
	const least = 200 * time.Millisecond
	over := time.After(least)
	err := c.Cmd.Run()
	<-over
	return err
}

// SetStdin implements tea.ExecCommand. An editor needs the terminal and not the screen's reader.
func (c outside) SetStdin(in io.Reader) {
	if c.Stdin == nil {
		c.Stdin = in
	}
}

// SetStdout implements tea.ExecCommand.
func (c outside) SetStdout(out io.Writer) { c.Stdout = out }

// SetStderr implements tea.ExecCommand.
func (c outside) SetStderr(out io.Writer) { c.Stderr = out }

// editedMsg is the edited text.
type editedMsg string
