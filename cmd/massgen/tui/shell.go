package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen/internal/system/child"
)

// shellCommand is a command that a person runs in a shell. Its process group ends with it.
type shellCommand struct {
	line   string
	output shellOutput
	end    context.CancelFunc
	ending bool          // the person has ended it
	over   chan struct{} // closed when no process of the group is left
	ended  time.Time     // zero while it runs
	failed error
	// block is the conversation's block with the command, on a page.
	block, page int
}

// isRunning reports whether c is there and has not ended.
func (c *shellCommand) isRunning() bool { return c != nil && c.ended.IsZero() }

// endedWithin reports whether c ended less than d ago, or is about to end.
func (c *shellCommand) endedWithin(d time.Duration) bool {
	return c != nil && (c.isRunning() && c.ending || time.Since(c.ended) < d)
}

// text returns the output of the command, and its error.
func (c *shellCommand) text() string {
	text := strings.TrimSuffix(printable(c.output.text()), "\n")
	if c.failed == nil {
		return text
	}
	return strings.TrimPrefix(text+"\n"+c.failed.Error(), "\n")
}

// shellGrace is the time between asking a process group to end and killing it. outputGrace is the time
// that a process outside the group may keep the output open after the command has ended.
const (
	shellGrace  = 2 * time.Second
	outputGrace = 500 * time.Millisecond
)

// run runs the command until it ends or ctx does, and returns when no process of its group is left.
func (c *shellCommand) run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", c.line)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &c.output, &c.output, outputGrace
	group, err := child.Start(cmd)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		group.Terminate()
		time.AfterFunc(shellGrace, group.Kill)
	})()
	if err = group.Wait(); errors.Is(err, exec.ErrWaitDelay) { // the command itself has succeeded
		return nil
	}
	return err
}

// shell runs a person's commands, one at a time, and shows their output.
type shell struct {
	conv       client
	transcript *transcript
	entry      *entry
	command    *shellCommand // the last one, nil without one
}

// block returns the block of a running command, -1 without one.
func (s *shell) block() int {
	if s.command.isRunning() && s.command.page == s.transcript.page {
		return s.command.block
	}
	return -1
}

// start runs a command, whose output goes with the next question.
func (s *shell) start(line string) tea.Cmd {
	switch {
	case line == "":
		return nil
	case s.command.isRunning():
		s.transcript.add(told, "", "a command runs: Esc ends it first")
		return nil
	}
	stopped, end := context.WithCancel(context.Background())
	c := &shellCommand{line: line, output: shellOutput{more: make(chan struct{}, 1)}, end: end, over: make(chan struct{}), block: -1}
	s.command = c
	s.show()
	return tea.Batch(s.awaitOutput(c), s.conv.do(func(ctx context.Context) tea.Msg {
		defer close(c.over)
		defer end()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(stopped, cancel)()
		return shellOverMsg{c, c.run(ctx)}
	}))
}

// betweenOutputs is the shortest time between two updates of a running command's output.
const betweenOutputs = 100 * time.Millisecond

// awaitOutput waits for more output of a command. It ends with the command.
func (s *shell) awaitOutput(c *shellCommand) tea.Cmd {
	return s.conv.do(func(ctx context.Context) tea.Msg {
		select {
		case <-c.output.more:
		case <-c.over:
			return nil
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(betweenOutputs):
		case <-c.over:
			return nil
		case <-ctx.Done():
			return nil
		}
		return shellOutputMsg{c}
	})
}

// shellOutputMsg is sent when a command has printed more, and shellOverMsg when it has ended.
type (
	shellOutputMsg struct{ c *shellCommand }
	shellOverMsg   struct {
		c   *shellCommand
		err error
	}
)

// takeOutput shows the output of a command so far.
func (s *shell) takeOutput(c *shellCommand) tea.Cmd {
	if !c.isRunning() { // its end came first
		return nil
	}
	s.show()
	return s.awaitOutput(c)
}

// takeEnd takes the end of a command.
func (s *shell) takeEnd(msg shellOverMsg) {
	msg.c.ended, msg.c.failed = time.Now(), msg.err
	s.show()
	s.entry.context += "\n\n$ " + msg.c.line + "\n" + msg.c.text()
}

// show shows the command, its output and whether it runs.
func (s *shell) show() {
	c := s.command
	text := c.text()
	switch {
	case c.isRunning() && c.ending:
		text = strings.TrimPrefix(text+"\n… is ending", "\n")
	case c.isRunning():
		text = strings.TrimPrefix(text+"\n… is running; Esc ends it", "\n")
	}
	text = s.conv.Redact(text)
	if c.block >= 0 && c.page == s.transcript.page {
		s.transcript.change(c.block, text)
		return
	}
	c.block, c.page = len(s.transcript.blocks), s.transcript.page
	s.transcript.add(printed, "$ "+s.conv.Redact(printable(c.line)), text)
}

// stop ends the running command with its process group.
func (s *shell) stop() {
	s.command.ending = true
	s.command.end()
	s.show()
}

// mostOutput is the number of bytes of a command's output that go with a question.
const mostOutput = 16 << 10

// shellOutput keeps the beginning of a command's output and counts the rest. It is safe for concurrent
// use.
type shellOutput struct {
	more chan struct{} // takes one when there is more

	mu   sync.Mutex
	kept []byte
	rest int64
}

// Write implements io.Writer.
func (o *shellOutput) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(data), mostOutput-len(o.kept))
	o.kept = append(o.kept, data[:n]...)
	o.rest += int64(len(data) - n)
	select {
	case o.more <- struct{}{}:
	default: // the last signal is still unread
	}
	return len(data), nil
}

func (o *shellOutput) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rest == 0 {
		return string(o.kept)
	}
	return fmt.Sprintf("%s\n… and %d bytes more", bytes.TrimSuffix(o.kept, []byte("\n")), o.rest)
}
