package app_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/internal/tools/workspace"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

// worker is a panel of an agent that runs commands and one with an MCP server, and perhaps
// one that only writes, with all that may be left behind when it is cut.
type worker struct {
	server *backendtest.Server
	config string
	held   string // a file that the MCP server and its child hold
	home   string
}

func newWorker(t *testing.T, writers string, reply func(backendtest.Call) backendtest.Reply) worker {
	t.Helper()
	dir := t.TempDir()
	w := worker{config: filepath.Join(dir, "panel.yaml"), held: filepath.Join(dir, "held"), home: dir}
	w.server = backendtest.NewServer(t, reply)
	text := fmt.Sprintf(`agents:
  - {id: a, backend: {type: chatcompletion, base_url: %q, model: a, cwd: %q, enable_mcp_command_line: true}}
  - {id: b, backend: {type: chatcompletion, base_url: %q, model: b, mcp_servers: [{name: fake, command: fakemcp, args: [%q], env: {GORACE: atexit_sleep_ms=0}}]}}
`, w.server.BaseURL, filepath.Join(dir, "work"), w.server.BaseURL, w.held)
	for _, id := range writers {
		text += fmt.Sprintf("  - {id: %c, backend: {type: chatcompletion, base_url: %q, model: %c}}\n", id, w.server.BaseURL, id)
	}
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs one turn, which tells its steps to stderr, and returns its exit status.
func (w worker) run(interrupts <-chan os.Signal, stderr io.Writer) <-chan int {
	status := make(chan int, 1)
	go func() {
		status <- app.Main([]string{"massgen", "--state-dir", filepath.Join(w.home, "state"), "--config", w.config, "--debug", "--", "question"}, app.Env{
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr, Interrupts: interrupts,
			Lookup: func(string) (string, bool) { return "", false }, LocalServers: map[string]string{},
		})
	}()
	return status
}

// leftovers is what this process has beside its memory.
type leftovers struct {
	goroutines goleak.Option
	files      map[string]int
}

func lookAround(t *testing.T) leftovers {
	t.Helper()
	return leftovers{goleak.IgnoreCurrent(), openFiles(t)}
}

// openFiles are the files that are open, by what they are: pipes and sockets have numbers
// for names.
func openFiles(t *testing.T) map[string]int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]int{}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err != nil {
			continue // that of the folder itself, which is closed by now
		}
		open[strings.TrimRight(target, "0123456789]")]++
	}
	return open
}

func children(t *testing.T) (ids []string) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		ids = append(ids, strings.Fields(string(data))...)
	}
	return ids
}

// check fails if a run has left anything. The connections of the server are goroutines of
// this process, too, and end when the other side has closed them.
func (before leftovers) check(t *testing.T, w worker, when string) {
	t.Helper()
	if err := leaks.Find(before.goroutines); err != nil {
		t.Errorf("%s: %v", when, err)
	}
	if n := w.server.Open(); n > 0 {
		t.Errorf("%s: %d calls are still answered", when, n)
	}
	for target, n := range openFiles(t) {
		if n > before.files[target] {
			t.Errorf("%s: %s is open %d times, before it was %d times", when, target, n, before.files[target])
		}
	}
	if ids := children(t); len(ids) > 0 {
		t.Errorf("%s: there are processes %v", when, ids)
	}
	if _, err := os.Stat(w.held); err != nil {
		return // the MCP server never came to be
	}
	if err := isReleased(w.held); err != nil {
		t.Errorf("%s: the MCP server or its child is there: %v", when, err)
	}
}

// TestCancelLeavesNothingBehind interrupts a turn after each line that is told of it.
func TestCancelLeavesNothingBehind(t *testing.T) {
	w := newWorker(t, "", func(c backendtest.Call) backendtest.Reply {
		return working(func(results []string) backendtest.Reply {
			switch {
			case len(results) > 0:
				return backendtest.Reply{Text: "done"}
			case c.Model() == "a":
				return calls("run_command", `{"argv":["echo","x"]}`)
			}
			return calls("mcp__fake__echo", `{"a":1}`)
		})(c)
	})
	if got := <-w.run(nil, io.Discard); got != app.ExitCompleted { // also the first use of what lasts
		t.Fatalf("exit status %d", got)
	}
	moments := 0
	for n := 1; ; n++ {
		before := lookAround(t)
		interrupts := make(chan os.Signal, 1)
		stderr := &countdown{zero: func() { interrupts <- os.Interrupt }}
		stderr.lines.Store(int64(n))
		status := <-w.run(interrupts, stderr)
		before.check(t, w, fmt.Sprintf("interrupted after line %d", n))
		if t.Failed() {
			return
		}
		if status == app.ExitInterrupted {
			moments++
		}
		if stderr.lines.Load() > 0 {
			break
		}
	}
	t.Logf("interrupted at %d moments", moments)
	if moments < 20 {
		t.Errorf("only %d turns were interrupted", moments)
	}
}

// countdown calls zero when it has taken so many lines of a turn. An interrupt before that
// ends the process, and does not wait for anything in it.
type countdown struct {
	begun atomic.Bool
	lines atomic.Int64
	zero  func()
}

func (c *countdown) Write(data []byte) (int, error) {
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "msg=step_started") {
			c.begun.Store(true)
		}
		if c.begun.Load() && c.lines.Add(-1) == 0 {
			c.zero()
		}
	}
	return len(data), nil
}

// TestCancelEndsWhatRuns interrupts a turn when a command, and calls of all kinds, are in
// the middle of their work.
func TestCancelEndsWhatRuns(t *testing.T) {
	called := make(chan string, 100)
	w := newWorker(t, "c", func(c backendtest.Call) backendtest.Reply {
		called <- c.Model()
		switch {
		case c.Model() == "a":
			return calls("run_command", `{"argv":["sh","-c","exec 9>running; echo yes >&9; sleep 600 & sleep 600"]}`)
		case c.Model() == "b":
			return calls("mcp__fake__wait", `{}`)
		}
		return backendtest.Reply{Text: "I begin to think.", Fault: backendtest.HangMidStream}
	})
	if err := os.Mkdir(filepath.Join(w.home, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(w.home, "work", "running")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	before := lookAround(t)
	interrupts := make(chan os.Signal, 1)
	stderr := newTape()
	status := w.run(interrupts, stderr)
	stderr.await(t, "waiting for the end") // what the MCP server says when it is called
	var running *os.File
	if fenced, _ := workspace.CanFence(); fenced {
		running = awaitWriter(t, fifo)
	}
	begun := time.Now()
	interrupts <- os.Interrupt
	if got := <-status; got != app.ExitInterrupted {
		t.Errorf("exit status %d", got)
	}
	t.Logf("the program ended %s after the interrupt", time.Since(begun).Round(time.Millisecond))
	if running != nil {
		rest, err := io.ReadAll(running) // ends when all who write have
		if err != nil || len(rest) > 0 {
			t.Errorf("the command said %q, %v", rest, err)
		}
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	}
	before.check(t, w, "interrupted")
}

// awaitWriter opens a pipe with a name when somebody writes to it, and takes the first line.
func awaitWriter(t *testing.T, fifo string) *os.File {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReaderSize(f, 16).ReadString('\n'); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Logf("no time limit: %v", err)
	}
	return f
}
