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
		{"/copy", "copy the last answer (Ctrl+Y)"},
		{"/compare", "read the answers of the last turn side by side (Ctrl+G)"},
		{"/attach", "attach a file to the question; @FILE in the line does it, too"},
		{"/stop", "end the turn with the best answer so far (Esc)"},
		{"/retry", "ask the last question again, in a copy of the session"},
		{"/find", "find an old answer or session by its words: /find WORDS (Ctrl+S)"},
		{"/save", "write the last answer to a file: /save FILE"},
		{"/edit", "write the question in $EDITOR: /edit TEXT begins with that; Ctrl+O takes what was typed"},
		{"/mouse", "let the wheel scroll; again: let the mouse select text, as at first"},
	}
}

// allCommands returns the screen's commands and those of the conversation.
func allCommands(commands []Choice) []Choice { return slices.Concat(ownCommands(), commands) }

// needsWords reports whether a command does nothing without an argument.
func needsWords(name string) bool {
	return slices.Contains([]string{"/save", "/find", "/note", "/without", "/remember", "/rename"}, name)
}

// helpText lists the commands.
func helpText(commands []Choice) string {
	var b strings.Builder
	for _, c := range allCommands(commands) {
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
	case "/compare":
		if len(s.talk.last.answers) == 0 { // of a session that was opened again
			return s.conv.show("the answers of the last turn", "/answers", "/compare")
		}
		s.overlay = newComparison(s.talk.last.answers, s.talk.last.winner, s.session.ids(), s.transcript.drawer)
		return nil
	case "/votes":
		return s.conv.show("the votes of the last turn", "/votes", "/votes")
	case "/attach":
		if err := s.entry.attach(rest); err != nil {
			s.transcript.add(wrong, "", s.conv.Redact(err.Error()))
		}
		return nil
	case "/find", "/sessions":
		return s.conv.readSessions(rest)
	case "/save":
		return s.talk.save(rest)
	case "/edit":
		return s.edit(rest)
	case "/retry":
		return s.talk.retry()
	case "/mouse":
		s.mood.wheel = !s.mood.wheel
		s.transcript.add(told, "", map[bool]string{true: "the wheel scrolls; most terminals select text while Shift is held. /mouse again ends that", false: "the mouse selects text"}[s.mood.wheel])
		return nil
	case "/delete":
		if rest == "" && s.session.Turn > 0 {
			s.overlay = deletion("this session", s.session.Turn, func() tea.Cmd { return s.idleCommand("/delete yes") }, nil)
			return nil
		}
	case "/session":
		if rest == "" {
			return s.conv.readSessions("")
		}
	case "/tools":
		return s.conv.show("the agents' tools", line, "/tools")
	}
	if cmd, taken := s.talk.command(name, rest); taken {
		return cmd
	}
	return s.idleCommand(line)
}

// command runs a command about the running turn. Without a turn it takes none but /stop.
func (t *talk) command(name, rest string) (cmd tea.Cmd, taken bool) {
	switch {
	case name == "/stop" && t.running == nil:
		t.transcript.add(told, "", "no turn runs")
		return nil, true
	case name == "/stop":
		t.stop()
		return nil, true
	case !t.hasTurn():
		return nil, false
	}
	switch name {
	case "/note":
		return t.note(rest), true
	case "/pause", "/resume":
		return t.pause(name == "/pause"), true
	case "/without":
		return t.dismiss(rest), true
	}
	return nil, false
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
	s.overlay = &question{text: "Go on without " + agent + "? Its last answer stays; it is asked no more in this turn.", yes: func() tea.Cmd { return s.talk.dismiss(agent) }}
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
	s.overlay = &question{text: "Let massgen write to this terminal's clipboard, now and until it ends?", yes: copied}
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
