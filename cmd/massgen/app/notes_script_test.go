package app_test

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/massgen/massgen/tests/backendtest"
)

// typedLine matches a line that is typed, with its end if it has one. What a terminal marks as pasted has no end in it.
var typedLine = regexp.MustCompile(`(?s)((?:\x1b\[200~.*?\x1b\[201~|[^\r])+)(\r?)`)

// lastTyped matches the last letters of a line, which the screen ends with when the prompt has all of it.
var lastTyped = regexp.MustCompile(`([^\r~]{1,4})(?:\x1b\[201~)?$`)

// noted KEYS SHOWN ARGS… holds a conversation at a terminal: in the first turn KEYS are
// typed, which are written as Go writes a text, with LONG for 5,000 letters. Each line is typed when the prompt has
// taken the one before: lines that come at once are one pasted question. The server, in
// PANEL_URL, answers when the terminal has shown SHOWN, which bars part. What the terminal shows is the standard error; the
// questions that agent1 was asked, and the notes with them, are the standard output.
func cmdNoted(ts *testscript.TestScript, _ bool, args []string) {
	keys, err := strconv.Unquote(`"` + strings.ReplaceAll(args[0], "LONG", strings.Repeat("x", 5000)) + `"`)
	ts.Check(err)
	keyboard, tty, err := openTerminal()
	ts.Check(err)
	ts.Defer(func() { ts.Check(keyboard.Close()) })
	typed := func(keys string) {
		_, err := io.WriteString(keyboard, keys)
		ts.Check(err)
	}
	called, release := make(chan struct{}, 10), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	ts.Defer(free)
	server := backendtest.NewServer(nil, func(c backendtest.Call) backendtest.Reply {
		called <- struct{}{}
		<-release
		if isBlind(c) {
			return calls("new_answer", `{"content":"the answer of `+c.Model()+`"}`)
		}
		return voteFor("agent1")
	})
	ts.Defer(server.Close)
	massgen, stop := runs(ts, args[2:]...)
	defer stop()
	for _, name := range []string{"PATH", "HOME", "STATUS", "TMPDIR"} {
		massgen.Env = append(massgen.Env, name+"="+ts.Getenv(name))
	}
	massgen.Env = append(massgen.Env, "TERM=xterm", "PANEL_URL="+server.BaseURL)
	massgen.Dir, massgen.Stdin, massgen.Stdout, massgen.Stderr = ts.MkAbs("."), tty, io.Discard, tty
	ts.Check(massgen.Start())
	ts.Check(tty.Close())
	screen := screenOf(keyboard)
	screen.until("> ")
	typed("first\r")
	<-called
	screen.until("> first", "> ")
	for _, line := range typedLine.FindAllStringSubmatch(keys, -1) {
		screen.await(func(shown string) bool { return strings.HasSuffix(shown, "> ") })
		typed(line[1])
		end := lastTyped.FindStringSubmatch(line[1])[1]
		screen.await(func(shown string) bool { return strings.HasSuffix(shown, end) })
		typed(line[2])
	}
	shown := screen.until(strings.Split(args[1], "|")...)
	free()
	err = massgen.Wait()
	_, writeErr := io.WriteString(ts.Stderr(), plain(shown+screen.rest()))
	ts.Check(writeErr)
	ts.Check(err)
	for _, c := range server.Calls() {
		if c.Model() == "agent1" {
			question, _, _ := strings.Cut(c.User()[strings.Index(c.User(), "<ORIGINAL"):], "\n\n<CURRENT ANSWERS")
			_, err = fmt.Fprintf(ts.Stdout(), "blind=%t: %q\n", isBlind(c), question)
			ts.Check(err)
		}
	}
}
