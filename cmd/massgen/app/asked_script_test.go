package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// asked [-for=QUESTION] AHEAD ANSWERS ARGS… runs massgen at a terminal. AHEAD is typed before it
// starts, and ANSWERS, which bars part, when its question is there, each when it was asked once
// more; without -for it is that about a tool call. What the terminal shows is its standard
// error.
func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	question := []string{"allow it?", "> "}
	if text, found := strings.CutPrefix(args[0], "-for="); found {
		question, args = []string{text}, args[1:]
	}
	keyboard, tty, err := openTerminal()
	ts.Check(err)
	ts.Defer(func() { ts.Check(keyboard.Close()) })
	typed := func(line string) {
		_, err := io.WriteString(keyboard, line+"\r")
		ts.Check(err)
	}
	if args[0] != "" {
		typed(args[0])
	}
	massgen, stop := runs(ts, args[2:]...)
	defer stop()
	for _, name := range []string{"PATH", "HOME", "STATUS", "TMPDIR", "PANEL_URL", "TERM", "MASSGEN_SCREEN_READER"} {
		massgen.Env = append(massgen.Env, name+"="+ts.Getenv(name))
	}
	massgen.Dir, massgen.Stdin, massgen.Stdout, massgen.Stderr = ts.MkAbs("."), tty, ts.Stdout(), tty
	ts.Check(massgen.Start())
	ts.Check(tty.Close())
	screen := screenOf(keyboard)
	var shown string
	var asked []string
	for answer := range strings.SplitSeq(args[1], "|") {
		asked = append(asked, question...)
		shown = screen.until(asked...)
		typed(answer)
	}
	err = massgen.Wait()
	_, writeErr := io.WriteString(ts.Stderr(), plain(shown+screen.rest()))
	ts.Check(writeErr)
	if status := (*exec.ExitError)(nil); neg && errors.As(err, &status) {
		return
	} else if neg {
		ts.Fatalf("massgen ended with %v, want a failure", err)
	}
	ts.Check(err)
}

// runs prepares a run of the program, which is killed if it does not end.
func runs(ts *testscript.TestScript, args ...string) (massgen *exec.Cmd, stop func()) {
	const longest = 3 * time.Minute
	ctx, stop := context.WithTimeout(context.Background(), longest)
	return exec.CommandContext(ctx, binary(ts), args...), stop
}

// binary is the program's, in a folder of the script's PATH.
func binary(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, "massgen")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	ts.Fatalf("there is no massgen in PATH")
	return ""
}

// terminalCodes matches a terminal's control code, a line's end, or one character.
var terminalCodes = regexp.MustCompile(`\x1b\[([0-9;?]*)([A-Za-z])|\r\n|(?s:.)`)

// plain returns the lines that a terminal shows. It obeys the control codes that erase a
// prompt: cursor left, cursor right, and erase to the end of the line.
func plain(shown string) string {
	var text strings.Builder
	var line []rune
	at := 0
	for _, m := range terminalCodes.FindAllStringSubmatch(shown, -1) {
		count, err := strconv.Atoi(m[1])
		if err != nil {
			count = 1
		}
		switch {
		case m[2] == "D":
			at = max(0, at-count)
		case m[2] == "C":
			at = min(len(line), at+count)
		case m[2] == "K":
			line = line[:at]
		case m[2] != "": // such as a colour
		case m[0] == "\r\n", m[0] == "\n":
			text.WriteString(string(line) + "\n")
			line, at = nil, 0
		default:
			line = append(line[:at], append([]rune(m[0]), line[min(at+1, len(line)):]...)...)
			at++
		}
	}
	return text.String() + string(line)
}

// screen is what a terminal shows, as it comes.
type screen struct {
	pieces chan []byte
	text   bytes.Buffer
}

func screenOf(r io.Reader) *screen {
	s := &screen{pieces: make(chan []byte, 1000)}
	go func() {
		defer close(s.pieces)
		for {
			piece := make([]byte, 4096)
			n, err := r.Read(piece)
			if err != nil { // nobody has the terminal any more
				return
			}
			s.pieces <- piece[:n]
		}
	}()
	return s
}

// until returns what is shown until one text after the other has been.
func (s *screen) until(texts ...string) string {
	isLate := s.await(func(rest string) bool {
		found := true
		for _, text := range texts {
			_, after, ok := strings.Cut(rest, text)
			rest, found = after, found && ok
		}
		return found
	})
	if isLate {
		return s.text.String() + fmt.Sprintf("\nnothing of %q came\n", texts)
	}
	return s.text.String()
}

// await waits until a condition holds for what is shown, or the terminal is closed. It reports whether neither came.
func (s *screen) await(holds func(shown string) bool) (isLate bool) {
	late := time.After(time.Minute)
	for !holds(s.text.String()) {
		select {
		case piece, ok := <-s.pieces:
			if !ok {
				return false
			}
			s.text.Write(piece)
		case <-late:
			return true
		}
	}
	return false
}

// rest returns what is still shown.
func (s *screen) rest() string {
	s.text.Reset()
	for piece := range s.pieces {
		s.text.Write(piece)
	}
	return s.text.String()
}
