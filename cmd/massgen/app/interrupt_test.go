package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

// tape keeps what is written, for who waits for it.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
	// stop is the part at which it stops, as a screen does that nobody looks at; "" for none.
	// It tells of that on stopped, and goes on after end.
	stop         string
	once         sync.Once
	stopped, end chan struct{}
}

func newTape() *tape { return &tape{more: make(chan struct{}, 1)} }

// stopAt has it stop at a part until the test is over.
func (t *tape) stopAt(test *testing.T, part string) {
	t.stop, t.stopped, t.end = part, make(chan struct{}), make(chan struct{})
	test.Cleanup(func() { close(t.end) })
}

func (t *tape) Write(data []byte) (int, error) {
	if t.stop != "" && bytes.Contains(data, []byte(t.stop)) {
		t.once.Do(func() { close(t.stopped) })
		<-t.end
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.more <- struct{}{}:
	default:
	}
	return t.text.Write(data)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func (t *tape) await(test *testing.T, part string) {
	test.Helper()
	limit := time.After(time.Minute)
	for !strings.Contains(t.String(), part) {
		select {
		case <-t.more:
		case <-limit:
			test.Fatalf("%q was not written, but\n%s", part, t)
		}
	}
}

// conversation is a program that somebody talks to.
type conversation struct {
	keyboard   *io.PipeWriter
	interrupts chan os.Signal
	stdout     *tape
	stderr     *tape
	status     chan int
}

func converse(t *testing.T, args ...string) *conversation {
	return converseOn(t, newTape(), args...)
}

func converseOn(t *testing.T, stderr *tape, args ...string) *conversation {
	stdin, keyboard := io.Pipe()
	c := &conversation{keyboard, make(chan os.Signal), newTape(), stderr, make(chan int, 1)}
	env := app.Env{
		Stdin: stdin, Stdout: c.stdout, Stderr: c.stderr, Interrupts: c.interrupts, Slack: time.Minute,
		Lookup: func(string) (string, bool) { return "", false }, LocalServers: map[string]string{},
	}
	args = append([]string{"massgen", "--state-dir", stateDir(t)}, args...)
	go func() { c.status <- app.Main(args, env) }()
	t.Cleanup(func() { keyboard.CloseWithError(errors.New("the keyboard is gone")) }) // so that nothing more is asked
	return c
}

// stateDir is a folder for sessions. A program that is left at once may still write
// to it when the test is over.
func stateDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "massgen")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (c *conversation) typed(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(c.keyboard, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (c *conversation) wantStatus(t *testing.T, want int) {
	t.Helper()
	if got := <-c.status; got != want {
		t.Errorf("exit status %d, want %d; standard error:\n%s", got, want, c.stderr)
	}
}

func TestInterruptWhileNothingRuns(t *testing.T) {
	leaks.Check(t)
	c := converse(t, "--lines", "--backend", "demo")
	c.typed(t, "/status")
	c.stderr.await(t, "usage")
	c.interrupts <- os.Interrupt
	c.stderr.await(t, "interrupt again, or /quit, to leave")
	c.typed(t, "question")
	c.stdout.await(t, "canned answer")
	c.typed(t, "/help")
	c.stderr.await(t, "Every other line")
	c.interrupts <- os.Interrupt // the line in between has made it the first again
	c.interrupts <- os.Interrupt
	c.wantStatus(t, app.ExitInterrupted)
}

// hangingServer does not answer the first calls, and tells of each.
func hangingServer(t *testing.T, hanging int) (url string, called chan struct{}) {
	called = make(chan struct{}, 10)
	s := backendtest.NewServer(nil, func(c backendtest.Call) backendtest.Reply {
		called <- struct{}{}
		if c.Number <= hanging {
			return backendtest.Reply{Fault: backendtest.HangBefore}
		}
		return backendtest.Reply{Text: "an answer"}
	})
	t.Cleanup(s.Close)
	return s.BaseURL, called
}

// The screen stops at the line that tells of the first interrupt, so that the turn is still
// ending when the second one comes.
func TestSecondInterruptLeaves(t *testing.T) {
	leaks.Check(t)
	url, called := hangingServer(t, 1)
	stderr := newTape()
	stderr.stopAt(t, "interrupt again to leave at once")
	c := converseOn(t, stderr, "--lines", "--model", "m", "--base-url", url)
	c.typed(t, "question")
	<-called
	c.interrupts <- os.Interrupt
	<-stderr.stopped
	c.interrupts <- os.Interrupt
	c.wantStatus(t, app.ExitInterrupted)
}

func TestInterruptEndsTheTurnOnly(t *testing.T) {
	leaks.Check(t)
	url, called := hangingServer(t, 1)
	c := converse(t, "--lines", "--model", "m", "--base-url", url)
	c.typed(t, "first")
	<-called
	c.interrupts <- os.Interrupt
	c.stderr.await(t, "interrupted: there is no answer yet")
	c.typed(t, "second")
	c.stdout.await(t, "an answer")
	c.typed(t, "/quit")
	c.wantStatus(t, app.ExitInterrupted) // from a pipe, an unfinished turn counts
}

// Two quick interrupts are for the turn, also when it ends between them; and the
// next prompt begins to count anew.
func TestInterruptsOfATurnDoNotReachThePrompt(t *testing.T) {
	leaks.Check(t)
	url, called := hangingServer(t, 1)
	c := converse(t, "--lines", "--model", "m", "--base-url", url)
	c.typed(t, "first")
	<-called
	c.interrupts <- os.Interrupt
	c.stderr.await(t, "interrupted: there is no answer yet")
	c.interrupts <- os.Interrupt
	c.interrupts <- os.Interrupt
	c.typed(t, "second")
	c.stdout.await(t, "an answer")
	if strings.Contains(c.stderr.String(), "to leave\n") {
		t.Errorf("the prompt was interrupted:\n%s", c.stderr)
	}
	c.typed(t, "/help")
	c.stderr.await(t, "Every other line")
	c.interrupts <- os.Interrupt
	c.stderr.await(t, "interrupt again, or /quit, to leave")
	c.interrupts <- os.Interrupt
	c.wantStatus(t, app.ExitInterrupted)
}

func TestTerminationEndsTheProgram(t *testing.T) {
	leaks.Check(t)
	url, called := hangingServer(t, 1)
	c := converse(t, "--lines", "--model", "m", "--base-url", url)
	c.typed(t, "question")
	<-called
	c.interrupts <- syscall.SIGTERM
	c.wantStatus(t, app.ExitInterrupted)
	if !strings.Contains(c.stderr.String(), "there is no answer yet") {
		t.Errorf("the turn was not ended first:\n%s", c.stderr)
	}
}

// What follows an answer ends, too, and no other question is taken.
func TestTerminationAfterTheAnswerEndsTheProgram(t *testing.T) {
	leaks.Check(t)
	looking := make(chan struct{}, 1)
	s := backendtest.NewServer(nil, func(c backendtest.Call) backendtest.Reply {
		if c.Number == 2 {
			looking <- struct{}{}
			return backendtest.Reply{Fault: backendtest.HangBefore}
		}
		return backendtest.Reply{Text: "an answer"}
	})
	t.Cleanup(s.Close)
	config := filepath.Join(t.TempDir(), "panel.yaml")
	text := fmt.Sprintf("agent: {id: a, backend: {type: chatcompletion, base_url: %q, model: m}}\nmemory: {extract: true}\n", s.BaseURL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := converse(t, "--lines", "--config", config)
	c.typed(t, "question")
	<-looking
	c.interrupts <- syscall.SIGTERM
	c.stderr.await(t, "the call for facts about this turn failed")
	go func() { _, _ = io.WriteString(c.keyboard, "another\n/quit\n") }() // a program that has ended takes none
	c.wantStatus(t, app.ExitInterrupted)
	c.stdout.await(t, "an answer")
}

func TestInterruptOutsideATurnLeaves(t *testing.T) {
	leaks.Check(t)
	c := converse(t, "--backend", "demo", "-")
	c.typed(t, "the beginning of a question") // has been read when this returns
	c.interrupts <- syscall.SIGTERM
	c.wantStatus(t, app.ExitInterrupted)
}

// blockedPipe is an output that nobody reads. It tells of the first write.
type blockedPipe struct {
	begun chan struct{}
	once  sync.Once
	end   chan struct{}
}

func newBlockedPipe(t *testing.T) *blockedPipe {
	p := &blockedPipe{begun: make(chan struct{}), end: make(chan struct{})}
	t.Cleanup(func() { close(p.end) })
	return p
}

func (p *blockedPipe) Write(data []byte) (int, error) {
	p.once.Do(func() { close(p.begun) })
	<-p.end
	return len(data), nil
}

func TestInterruptLeavesABlockedAnswer(t *testing.T) {
	leaks.Check(t)
	stdout := newBlockedPipe(t)
	interrupts := make(chan os.Signal)
	status := make(chan int, 1)
	go func() {
		status <- app.Main([]string{"massgen", "--state-dir", stateDir(t), "--backend", "demo", "question"}, app.Env{
			Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.Discard, Interrupts: interrupts,
			Lookup: func(string) (string, bool) { return "", false }, LocalServers: map[string]string{},
		})
	}()
	<-stdout.begun
	interrupts <- os.Interrupt
	if got := <-status; got != app.ExitInterrupted {
		t.Errorf("exit status %d", got)
	}
}

func TestInterruptsLeaveATurnThatNobodyWatches(t *testing.T) {
	leaks.Check(t)
	url, called := hangingServer(t, 1)
	stderr := newBlockedPipe(t)
	interrupts := make(chan os.Signal)
	status := make(chan int, 1)
	go func() {
		status <- app.Main([]string{"massgen", "--state-dir", stateDir(t), "--model", "m", "--base-url", url, "--no-display", "question"}, app.Env{
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr, Interrupts: interrupts,
			Lookup: func(string) (string, bool) { return "", false }, LocalServers: map[string]string{},
		})
	}()
	<-called
	interrupts <- os.Interrupt
	<-stderr.begun
	interrupts <- os.Interrupt
	if got := <-status; got != app.ExitInterrupted {
		t.Errorf("exit status %d", got)
	}
}
