package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen/internal/system/plain"
)

// keysIndent is the width of the first column of keysText.
const keysIndent = 14

const keysText = `Enter         send the question; while a turn runs, add a note to it
/             list the commands while you type: arrows choose, Tab takes, Enter runs
@             list the files of a folder: the chosen one is attached to the question
Ctrl+J        begin another line (also Alt+Enter)
Up, Down      what was typed before; Ctrl+F searches it
Tab           go to the agents; behind a typed word complete it
Esc           end !COMMAND, or the turn with the best answer so far; on an empty line, twice: leave
Ctrl+C        end them, too; twice: leave, whatever is typed
Ctrl+D        leave, on an empty line
Ctrl+N        begin a new session
Ctrl+R        begin anew; it asks
Ctrl+U        clear what was typed
Ctrl+O        go on with it in $EDITOR
Ctrl+S        all sessions, by title and by what was said in them: open, rename or delete one
Ctrl+T        what each call of a model was sent, and what was new in it
Ctrl+G        the answers side by side
Ctrl+Y        copy the last answer
Ctrl+X        open what happened in a turn, and tool calls with their results, or close them
PgUp, PgDown  scroll the conversation; after /mouse the wheel does, too
?             this page

On an agent (Tab goes there):
arrows, Tab   another agent
Enter         its whole text
p             pause the turn, or go on
x             go on without this agent; it asks
i             what it was sent last
Esc           back to the line

In the list of sessions (Ctrl+S):
letters       look for them in titles, panels, questions and answers
Enter         open the chosen session
Ctrl+R        give it another title
Ctrl+D        delete it; it asks

/help shows the commands. !COMMAND runs a command of the shell, whose output goes with the next
question. The mouse selects text as in any program of the terminal.`

// key takes a key.
func (s *screen) key(msg tea.KeyPressMsg) tea.Cmd {
	if d, ok := s.overlay.(*dialog); ok && !d.isHeard {
		return s.pressEarly(d, msg)
	}
	if _, isPage := s.overlay.(*agentPage); msg.String() == "ctrl+x" && (isPage || s.overlay == nil) {
		s.toggle()
		return nil
	}
	name := msg.String()
	if name != "esc" && name != "ctrl+c" || s.overlay != nil || s.focus >= 0 || s.menu.isOpen() {
		s.leaving = leaving{}
	}
	if s.overlay != nil {
		next, cmd := s.overlay.press(msg)
		s.overlay = next
		return cmd
	}
	if s.focus >= 0 {
		if cmd, taken := s.agentKey(name); taken {
			return cmd
		}
		s.focus = -1
	}
	if s.menu.isOpen() {
		if taken, submits := s.menu.press(name); submits {
			return s.submit()
		} else if taken {
			return nil
		}
	}
	if cmd, taken := s.controlKey(name); taken {
		return cmd
	}
	return s.entryKey(name, msg)
}

// toggle opens what is folded: what happened in the turns, and the tool calls of agents. If it is open, toggle closes it.
func (s *screen) toggle() {
	s.transcript.toggle()
	if page, ok := s.overlay.(*agentPage); ok {
		page.isOpen = s.transcript.isOpen
	}
}

// agentKey takes a key for the chosen agent.
func (s *screen) agentKey(name string) (cmd tea.Cmd, taken bool) {
	n := 0
	if s.talk.shown != nil {
		n = len(s.talk.shown.Agents)
	}
	if n == 0 {
		return nil, false
	}
	switch name {
	case "tab", "right", "down":
		s.focus++
		if s.focus >= n {
			s.focus = -1
		}
	case "shift+tab", "left", "up":
		s.focus--
	case "enter":
		s.overlay = newAgentPage(s.talk.shown, s.talk.shown.Agents[s.focus].ID, s.drawing(time.Time{}))
	case "i":
		return s.conv.readCalls(s.talk.shown.Agents[s.focus].ID), true
	case "p":
		return s.talk.pause(!s.talk.shown.Paused), true
	case "x":
		return nil, s.askToDismiss(s.talk.shown.Agents[s.focus].ID)
	case "esc":
		s.focus = -1
	default:
		return nil, false
	}
	return nil, true
}

// controlKey takes a key that has the same meaning everywhere.
func (s *screen) controlKey(name string) (cmd tea.Cmd, taken bool) {
	switch name {
	case "esc":
		return s.stop("Esc"), true
	case "ctrl+c":
		return s.stop("Ctrl+C"), true
	case "ctrl+n":
		return s.idleCommand("/new"), true
	case "ctrl+r":
		s.overlay = &question{text: "Begin anew, in a new session? This one is kept.", yes: func() tea.Cmd { return s.idleCommand("/reset") }}
	case "ctrl+u":
		s.entry.clear()
		s.entry.context = ""
	case "ctrl+f":
		s.overlay = newPicker("What was typed before: Enter takes a line", newestFirst(s.entry.past), func(text string) tea.Cmd {
			s.entry.set(text)
			return nil
		})
	case "ctrl+s":
		return s.conv.readSessions(""), true
	case "ctrl+t":
		return s.conv.readCalls(""), true
	case "ctrl+o":
		text := s.entry.text()
		s.entry.clear()
		return s.edit(text), true
	case "ctrl+g":
		return s.ownCommand("/compare", "", "/compare"), true
	case "ctrl+y":
		return s.copyAnswer(), true
	case "pgup":
		s.transcript.scroll(s.transcript.height / 2)
	case "pgdown":
		s.transcript.scroll(-s.transcript.height / 2)
	default:
		return nil, false
	}
	return nil, true
}

func newestFirst(lines []string) []Choice {
	var list []Choice
	for i := len(lines) - 1; i >= 0; i-- {
		list = append(list, Choice{Name: lines[i]})
	}
	return list
}

// wheel scrolls the overlay or the conversation by three lines.
func (s *screen) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	const lines = 3
	by, arrow := lines, tea.KeyUp
	switch msg.Button {
	case tea.MouseWheelUp:
	case tea.MouseWheelDown:
		by, arrow = -lines, tea.KeyDown
	default:
		return nil
	}
	if s.overlay == nil {
		s.transcript.scroll(by)
		return nil
	}
	var cmds []tea.Cmd
	for range lines {
		if s.overlay != nil {
			cmds = append(cmds, s.key(tea.KeyPressMsg{Code: arrow}))
		}
	}
	return tea.Batch(cmds...)
}

// entryKey takes a key for the entry.
func (s *screen) entryKey(name string, msg tea.KeyPressMsg) tea.Cmd {
	switch name {
	case "enter":
		return s.submit()
	case "ctrl+d":
		if s.entry.isEmpty() {
			return s.idleCommand("/quit")
		}
	case "?":
		if s.entry.isEmpty() {
			s.overlay = newTable("keys", keysText, keysIndent)
			return nil
		}
	case "up":
		if s.entry.older() {
			return nil
		}
	case "down":
		if s.entry.newer() {
			return nil
		}
	case "tab":
		if s.entry.isEmpty() && s.talk.shown != nil {
			s.focus = 0
			return nil
		}
		return s.complete()
	}
	return s.entry.press(msg)
}

// submit takes the typed text.
func (s *screen) submit() tea.Cmd {
	isShell := s.entry.isShell
	text := s.entry.take()
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil
	}
	s.conv.Typed(text)
	name, rest, _ := strings.Cut(trimmed, " ")
	switch {
	case isShell && strings.HasPrefix(trimmed, "!"):
		return s.shell.start(strings.TrimSpace(trimmed[1:]))
	case isCommand(name):
		return s.ownCommand(name, strings.TrimSpace(rest), trimmed)
	}
	return s.askTyped(text)
}

func isCommand(name string) bool {
	return !strings.Contains(name, "\n") && strings.Count(name, "/") == 1 && strings.HasPrefix(name, "/")
}

// complete completes the typed word with the models or files that begin with it, or lists the sessions.
func (s *screen) complete() tea.Cmd {
	value := s.entry.area.Value()
	word := value[strings.LastIndexAny(value, " \n")+1:]
	var names []string
	switch {
	case strings.HasPrefix(word, "@"): // behind which the menu was closed
		names = filesLike(word)
	case strings.HasPrefix(value, "/model "):
		names = s.modelWords(value)
	case strings.HasPrefix(value, "/session "):
		return s.conv.readSessions("")
	}
	if several := s.entry.complete(names); len(several) > 1 {
		s.transcript.add(told, "", strings.Join(several, "  "))
	}
	return nil
}

// modelWords returns the words that may follow in a line that begins with /model: an agent and then a
// model, or the model for a single agent.
func (s *screen) modelWords(line string) (names []string) {
	if n := len(s.session.Agents); n > 1 && strings.Count(line, " ") == 1 {
		for _, a := range s.session.Agents {
			names = append(names, a.ID)
		}
		return names
	}
	return s.conv.Models()
}

// filesLike returns the files whose paths begin with the word after its @. Folders end with /. It leaves out names with
// characters that control a terminal.
func filesLike(word string) (names []string) {
	const most = 200
	found, err := filepath.Glob(globbed(word[1:]) + "*")
	if err != nil {
		return nil
	}
	found = slices.DeleteFunc(found, func(path string) bool { return strings.ContainsFunc(path, plain.IsControl) })
	for _, path := range found[:min(len(found), most)] {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path += "/"
		}
		names = append(names, "@"+path)
	}
	return names
}

// globbed escapes a path for filepath.Glob.
func globbed(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}
