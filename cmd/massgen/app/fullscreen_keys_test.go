//go:build linux && tmux

package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/tests/backendtest"
)

// keyStep presses keys, or types a line that begins with "> ", and waits for a text. A title has the screen
// compared.
type keyStep struct {
	title string
	keys  []string
	want  string
}

// walk takes steps one after the other.
func (s *shots) walk(steps []keyStep) {
	s.x.t.Helper()
	for _, step := range steps {
		if line, isLine := strings.CutPrefix(strings.Join(step.keys, " "), "> "); isLine {
			s.x.keys("-l", line)
			s.x.until("> " + line)
			s.x.keys("Enter")
		} else if len(step.keys) == 1 && step.keys[0] == closed {
			if strings.Contains(s.x.screen(), "Esc closes") {
				s.x.keys("Escape")
			}
		} else if len(step.keys) > 0 {
			s.x.keys(step.keys...)
		}
		s.x.until(step.want)
		if step.title != "" {
			s.take(step.title)
		}
	}
}

// paste pastes a text as a person does, in brackets.
func (x *tmux) paste(text string) {
	x.t.Helper()
	path := filepath.Join(x.dir, "pasted")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
	x.run("load-buffer", path, ";", "paste-buffer", "-p")
}

// closed closes a page where there is one: what a command prints is one if it has more lines than the
// screen.
const closed = "close"

const (
	atRest  = "Enter send"
	isEmpty = "> Ask a question"
)

// typingSteps types, and lets massgen complete, search and edit what is typed.
func typingSteps() []keyStep {
	return []keyStep{
		{"", nil, "ready"},
		{"several lines", []string{"one", "C-j", "two", "M-Enter", "three"}, "> three"},
		{"", []string{"Home", "C-Left", "C-k", "C-u"}, isEmpty},
		{"", []string{"> What is cheap?"}, "winner: cy.2"},
		{"", []string{"> And what is not?"}, "4 messages"},
		{"", nil, "(turn 2) On second thoughts"},
		{"up and down", []string{"Up", "Up", "Up", "Down"}, "> And what is not?"},
		{"", []string{"C-u"}, isEmpty},
		{"search of what was typed", []string{"C-f", "cheap"}, "search: cheap"},
		{"", []string{"Enter"}, "> What is cheap?"},
		{"", []string{"C-u"}, isEmpty},
		{"an edited question", []string{"begun ", "C-o"}, "> begun edited"},
		{"", []string{"C-u"}, isEmpty},
		{"", []string{"> /edit once more"}, "> once moreedited"},
		{"", []string{"C-u"}, isEmpty},
		{"commands while they are typed", []string{"/se"}, "↑↓ choose"},
		{"", []string{"C-u"}, isEmpty},
		{"completion of commands", []string{"/session", "Tab"}, "> /session"},
		{"", []string{"Space", "Tab"}, "Sessions: Enter"},
		{"", []string{"Escape"}, "> /session"},
		{"", []string{"C-u"}, isEmpty},
		{"completion of files", []string{"read @no", "Tab"}, "> read @notes/"},
		{"", []string{"C-u"}, isEmpty},
	}
}

// lookingSteps looks at agents, inputs and answers after two turns, and copies and saves the last one.
func lookingSteps() []keyStep {
	return []keyStep{
		{"the output of a command", []string{"> !echo from $((20+3))"}, "from 23"},
		{"", []string{"C-u"}, atRest},
		{"", slices.Repeat([]string{"PPage"}, 6), "┃ What is cheap?"},
		{"", slices.Repeat([]string{"NPage"}, 6), "from 23"},
		{"an agent", []string{"Tab", "Right", "Down", "Left", "Up", "Right"}, "Enter its whole text"},
		{"its text", []string{"Enter"}, "Esc closes"},
		{"", []string{"Down", "j", "k", "Up", "PPage", "NPage", "g", "G", "q"}, "Enter its whole text"},
		{"", []string{"i"}, "input of turn-002/bob/call-003"},
		{"what was new in an input", []string{"Left", "d"}, "new in turn-002/bob/call-002"},
		{"", []string{"Escape"}, "Enter its whole text"},
		{"", []string{"Escape"}, atRest},
		{"", []string{"C-t"}, "What the models were sent"},
		{"", []string{"Enter"}, "input of turn-002/cy/call-003"},
		{"", []string{"Escape"}, atRest},
		{"answers side by side", []string{"C-g", "Right"}, "answers: cy.2 and bob.1"},
		{"", []string{"Escape"}, atRest},
		{"the clipboard", []string{"C-y"}, "clipboard, now and until it ends?"},
		{"", []string{"y"}, "was sent to this terminal's clipboard"},
		{"", []string{"> /copy"}, "was sent to this terminal's clipboard"},
		{"", []string{"> /save kept.md"}, "the answer is in kept.md"},
		{"", []string{"> /save kept.md"}, "kept.md is there already: choose another name"},
		{"keys", []string{"?"}, "begin another line"},
		{"", []string{"Escape"}, atRest},
	}
}

// commandSteps runs the commands that only look, and those that need a turn.
func commandSteps() []keyStep {
	return []keyStep{
		{"commands", []string{"> /help"}, "the commands   Esc closes"},
		{"", []string{"Escape"}, atRest},
		{"contexts", []string{"> /context"}, "Counted is the first input"},
		{"costs", []string{"> /usage"}, "TOKENS IN"},
		{"", []string{"> /inputs"}, "growth since turn 1"},
		{"", []string{closed}, atRest},
		{"models", []string{"> /model"}, "AGENT  MODEL"},
		{"tools", []string{"> /tools"}, "No agent has tools but"},
		{"", []string{"Escape"}, atRest},
		{"", []string{"> /status"}, "panel     ada, bob, cy"},
		{"", []string{"> /answers"}, "the winner"},
		{"", []string{closed}, atRest},
		{"", []string{"> /note too late"}, "/note: "},
		{"", []string{"> /pause"}, "/pause: "},
		{"", []string{"> /resume"}, "/resume: "},
		{"", []string{"> /without ada"}, "/without: "},
		{"", []string{"> /topic"}, "topic"},
		{"", []string{"> /remember I like wind"}, "emember"},
		{"", []string{"> /sessions"}, "Ctrl+R renames"},
		{"", []string{"Escape"}, atRest},
		{"", []string{"> /rename Wind and sun"}, "This session is now"},
		{"", []string{"> /votes"}, "the votes of the last turn"},
		{"", []string{closed}, atRest},
		{"", []string{"> /config"}, "max_rounds"},
		{"", []string{closed}, atRest},
		{"", []string{"> /nonsense"}, "/nonsense: there is no such command"},
	}
}

// sessionSteps goes from session to session.
func sessionSteps() []keyStep {
	return []keyStep{
		{"", []string{"> /branch 1"}, "2 messages"},
		{"", []string{"> /undo"}, "0 messages"},
		{"", nil, "> What is cheap?"},
		{"", []string{"C-u"}, isEmpty},
		{"", []string{"C-s"}, "search:"},
		{"sessions", []string{"NOT"}, "search: NOT"},
		{"", []string{"Enter"}, "4 messages"},
		{"", []string{"> /retry"}, "winner: cy.2"},
		{"asked before a reset", []string{"C-r"}, "Begin anew, in a new session?"},
		{"", []string{"y"}, "0 messages"},
		{"", []string{"> /delete"}, "nothing in this session yet"},
	}
}

// TestFullScreenEveryKey presses each key and runs each command at rest, at two sizes. Those of a turn
// under way are in TestFullScreenMoments, those of the dialog in TestFullScreenAnswers.
func TestFullScreenEveryKey(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			x := openTmuxWith(t, size[0], size[1], threeDemos, "printf '#!/bin/sh\\necho edited >>$1\\n' >editor; chmod +x editor; mkdir notes; EDITOR=$PWD/editor %s")
			x.run("set-option", "-g", "set-clipboard", "on")
			shots := newShots(x, fmt.Sprintf("keys%d", size[0]))
			for _, steps := range [][]keyStep{typingSteps(), lookingSteps(), commandSteps(), sessionSteps()} {
				shots.walk(steps)
			}
			if got := x.run("show-buffer"); !strings.Contains(got, "(turn 2)\nOn second thoughts") {
				t.Errorf("the clipboard has %q", got)
			}
			x.paste("!touch harm\n@notes " + strings.Repeat("\nline", 78))
			shots.walk([]keyStep{
				{"a long paste", nil, "> [80 lines]"},
				{"", []string{"C-u"}, isEmpty},
			})
			x.paste("!touch harm")
			shots.walk([]keyStep{
				{"", nil, "> !touch harm"},
				{"", []string{"Enter"}, "┃ !touch harm"},
				{"", nil, "winner: cy.2"},
				{"", []string{"C-n"}, "0 messages"},
				{"", []string{"C-c"}, "Ctrl+C again leaves"},
				{"", []string{"C-c"}, "left with 0"},
			})
			shots.end()
			if data, err := os.ReadFile(filepath.Join(x.dir, "kept.md")); err != nil || !strings.Contains(string(data), "(turn 2)\nOn second thoughts") {
				t.Errorf("the answer was saved as %q, %v", data, err)
			}
			if _, err := os.Stat(filepath.Join(x.dir, "harm")); err == nil {
				t.Error("a command was run that was pasted")
			}
		})
	}
}

// TestFullScreenAnswers gives each answer to the dialog about a tool call.
func TestFullScreenAnswers(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 10}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			server := backendtest.NewServer(nil, toolBehaviours()["creates-file"])
			t.Cleanup(server.Close)
			panel := fmt.Sprintf("agent: {id: ada, backend: {type: openai, model: m, base_url: %q, cwd: work}}\npermissions: {rules: [{action: ask, tool: write_file}]}\n", server.BaseURL)
			x := openTmuxWith(t, size[0], size[1], panel, "mkdir work; %s")
			shots := newShots(x, fmt.Sprintf("answers%d", size[0]))
			isWritten := func(want bool) {
				t.Helper()
				path := filepath.Join(x.dir, "work", "test.txt")
				if _, err := os.Stat(path); (err == nil) != want {
					t.Errorf("the file is there: %v", err == nil)
				}
				_ = os.Remove(path) // for the next answer
			}
			x.until("ready")
			ask := func(title string, steps ...keyStep) {
				t.Helper()
				shots.walk([]keyStep{{"", []string{"C-n"}, isEmpty}, {"", []string{"> Go!"}, "asks to run write_file"}})
				shots.take(title) // it hears keys
				shots.walk(append(steps, keyStep{"", nil, atRest}))
			}
			ask("asked", keyStep{"", []string{"n"}, atRest})
			isWritten(false)
			ask("asked again", keyStep{"a reason", []string{"w", "use another name"}, "why not? use another name"}, keyStep{"", []string{"Enter"}, atRest})
			isWritten(false)
			ask("once", keyStep{"", []string{"Down", "Up", "o"}, atRest})
			isWritten(true)
			ask("always", keyStep{"", []string{"a"}, atRest})
			isWritten(true)
			shots.walk([]keyStep{{"", []string{"C-n"}, "0 in, 0 out"}, {"", []string{"> Go!"}, "Done: "}, {"", nil, atRest}})
			isWritten(true)
			rules, err := os.ReadFile(filepath.Join(x.dir, ".config", "massgen", "permissions.yaml"))
			if err != nil || !strings.Contains(string(rules), "write_file") {
				t.Errorf("the rule that was kept is %q, %v", rules, err)
			}
			shots.end()
		})
	}
}
