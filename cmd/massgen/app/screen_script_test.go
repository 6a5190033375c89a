package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/rogpeppe/go-internal/testscript"
)

// onscreen [-size=COLUMNSxROWS] [-cut=TEXT] [-answer=WORD]… [-out=FILE] ARGS… runs massgen with a
// terminal for its streams, and interrupts it when TEXT has been on the screen. Each -answer is typed
// when it asks about a call of a tool. Stdout has the lines that the terminal
// shows in the end, also those that have left the screen, and stderr all that was sent to it. With
// -out standard output is a file.
func cmdOnscreen(ts *testscript.TestScript, neg bool, args []string) {
	columns, rows, cut, out := 80, 24, "", ""
	var answers []string
	for ; len(args) > 0; args = args[1:] {
		if size, ok := strings.CutPrefix(args[0], "-size="); ok {
			_, err := fmt.Sscanf(size, "%dx%d", &columns, &rows)
			ts.Check(err)
			continue
		}
		if word, ok := strings.CutPrefix(args[0], "-answer="); ok {
			answers = append(answers, word)
			continue
		}
		text, isCut := strings.CutPrefix(args[0], "-cut=")
		file, isOut := strings.CutPrefix(args[0], "-out=")
		if !isCut && !isOut {
			break
		}
		if cut += text; isOut {
			cut, out = strings.TrimSuffix(cut, text), file
		}
	}
	keyboard, tty, err := openTerminal()
	ts.Check(err)
	ts.Defer(func() { ts.Check(keyboard.Close()) })
	ts.Check(resize(tty, columns, rows))
	massgen, stop := runs(ts, args...)
	defer stop()
	for _, name := range []string{"PATH", "HOME", "STATUS", "TMPDIR", "PANEL_URL", "TERM", "PAGER", "NO_COLOR", "ACCESSIBLE"} {
		if value := ts.Getenv(name); value != "" {
			massgen.Env = append(massgen.Env, name+"="+value)
		}
	}
	massgen.Dir, massgen.Stdin, massgen.Stdout, massgen.Stderr = ts.MkAbs("."), tty, tty, tty
	if out != "" {
		file, err := os.Create(ts.MkAbs(out))
		ts.Check(err)
		defer func() { ts.Check(file.Close()) }()
		massgen.Stdout = file
	}
	ts.Check(massgen.Start())
	ts.Check(tty.Close())
	screen := screenOf(keyboard)
	var sent bytes.Buffer
	for i, word := range answers {
		sent.Reset()
		sent.WriteString(screen.until(slices.Repeat([]string{"allow it?", "> "}, i+1)...))
		_, err := io.WriteString(keyboard, word+"\r")
		ts.Check(err)
	}
	if cut != "" {
		sent.WriteString(screen.until(cut))
		ts.Check(massgen.Process.Signal(os.Interrupt))
	}
	sent.WriteString(screen.rest())
	err = massgen.Wait()
	end := newShown(columns, rows)
	end.take(sent.String())
	_, writeErr := io.WriteString(ts.Stdout(), end.String())
	ts.Check(writeErr)
	_, writeErr = io.WriteString(ts.Stderr(), sent.String())
	ts.Check(writeErr)
	if end.wrapsNot || end.x != 0 || end.y < len(end.lines)-1 && strings.TrimSpace(strings.Join(end.lines[end.y], "")) != "" {
		ts.Fatalf("the terminal is left with wrapping off or the cursor in a line:\n%q", sent.String())
	}
	if status := (*exec.ExitError)(nil); neg && errors.As(err, &status) {
		return
	} else if neg {
		ts.Fatalf("massgen ended with %v, want a failure", err)
	}
	ts.Check(err)
}

// shown is what a terminal shows: lines of letters, of which an empty one stands behind a wide one. The
// first lines have left the screen.
type shown struct {
	columns, rows int
	lines         [][]string
	x, y          int
	wrapsNot      bool
}

func newShown(columns, rows int) *shown {
	return &shown{columns: columns, rows: rows, lines: [][]string{nil}}
}

func (s *shown) take(text string) {
	var state byte
	for text != "" {
		piece, width, n, next := ansi.DecodeSequence(text, state, nil)
		text, state = text[n:], next
		switch {
		case strings.HasPrefix(piece, "\x1b["):
			s.obey(piece[2:len(piece)-1], piece[len(piece)-1])
		case piece == "\r":
			s.x = 0
		case piece == "\n":
			s.down()
		case width > 0:
			s.put(piece, width)
		}
	}
}

func (s *shown) down() {
	if s.y++; s.y == len(s.lines) {
		s.lines = append(s.lines, nil)
	}
}

func (s *shown) put(letter string, width int) {
	switch over := s.x+width > s.columns; {
	case over && s.wrapsNot:
		s.x = s.columns - width
	case over:
		s.x = 0
		s.down()
	}
	line := s.lines[s.y]
	for len(line) < s.x+width {
		line = append(line, " ")
	}
	line[s.x] = letter
	for i := 1; i < width; i++ {
		line[s.x+i] = ""
	}
	s.lines[s.y] = line
	s.x += width
}

func (s *shown) obey(parameters string, command byte) {
	count, err := strconv.Atoi(parameters)
	if err != nil {
		count = 1
	}
	switch command {
	case 'A':
		s.y = max(s.y-count, len(s.lines)-s.rows, 0)
	case 'J':
		s.lines = s.lines[:s.y+1]
		s.lines[s.y] = s.lines[s.y][:min(s.x, len(s.lines[s.y]))]
	case 'C':
		s.x += count
	case 'D':
		s.x = max(s.x-count, 0)
	case 'K': // the whole line, or from the cursor on
		s.lines[s.y] = s.lines[s.y][:min(s.x, len(s.lines[s.y]))]
		if parameters == "2" {
			s.lines[s.y] = nil
		}
	case 'h', 'l':
		if parameters == "?7" {
			s.wrapsNot = command == 'l'
		}
	}
}

func (s *shown) String() string {
	var b strings.Builder
	for _, line := range s.lines {
		b.WriteString(strings.TrimRight(strings.Join(line, ""), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
