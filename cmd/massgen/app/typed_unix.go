//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package app

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// typedLines reads the lines that are typed on a terminal that is not raw, until stop is
// called, which returns those that nobody has taken and the rows of a paste without its end.
// Half a row stays with the terminal: no read is begun before a row has its end, so that
// none is left over.
func typedLines(terminal *os.File) (lines <-chan inputLine, stop func() (left []inputLine, begun []byte), err error) {
	ended, end, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("read what is typed: %w", err)
	}
	t := &typedReader{terminal: terminal, ended: ended, lines: make(chan inputLine), stopped: make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		t.read()
	}()
	return t.lines, func() ([]inputLine, []byte) {
		close(t.stopped)
		_ = end.Close() // this wakes the reader, and nothing was written that could be lost
		<-over
		_ = ended.Close() // nobody reads any more
		return t.left, t.rows.line
	}, nil
}

// typedReader reads for typedLines.
type typedReader struct {
	terminal, ended *os.File // ended can be read when stop was called
	lines           chan inputLine
	stopped         chan struct{}
	left            []inputLine
	rows            rows
}

// read reads until stop is called, or the terminal tells of its end.
func (t *typedReader) read() {
	buffer := make([]byte, 4096)
	for t.ready() {
		n, err := t.terminal.Read(buffer)
		if err != nil || n == 0 {
			return
		}
		for _, l := range t.rows.take(buffer[:n]) {
			select {
			case t.lines <- l:
			case <-t.stopped:
				t.left = append(t.left, l)
			}
		}
	}
}

// ready waits for a line; it is false when stop was called, or nothing will come.
func (t *typedReader) ready() bool {
	for {
		fds := []unix.PollFd{{Fd: int32(t.terminal.Fd()), Events: unix.POLLIN}, {Fd: int32(t.ended.Fd()), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && fds[1].Revents == 0 && fds[0].Revents == unix.POLLIN
	}
}
