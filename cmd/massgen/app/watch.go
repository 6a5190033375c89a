package app

import (
	"os"
	"syscall"
	"time"
)

// watch says whom an interrupt reaches: who has taken the interrupts, which is a
// turn or a prompt, and otherwise the program itself, which then ends. So nothing
// that blocks (a pipe, a file, a server) can hold a person up.
type watch struct {
	interrupts <-chan os.Signal
	taken      chan struct{}
	given      chan time.Time // until when interrupts are still meant for what has ended
	left       chan struct{}  // closed when nobody watches any more
}

// endsProgram says that a signal is the system's, or comes since the terminal is gone: nobody is
// there to interrupt once more.
func endsProgram(s os.Signal) bool { return s == syscall.SIGTERM || s == syscall.SIGHUP }

func newWatch(interrupts <-chan os.Signal) *watch {
	return &watch{interrupts: interrupts, taken: make(chan struct{}), given: make(chan time.Time), left: make(chan struct{})}
}

// until returns the status of a program that ends, or ExitInterrupted as soon as
// an interrupt comes that nobody has taken.
func (w *watch) until(ended <-chan int) int {
	defer close(w.left)
	var deaf time.Time
	for {
		select {
		case status := <-ended:
			return status
		case signal := <-w.interrupts:
			if endsProgram(signal) || time.Now().After(deaf) {
				return ExitInterrupted
			}
			continue
		case <-w.taken:
		}
		select {
		case status := <-ended:
			return status
		case deaf = <-w.given:
		}
	}
}

// take makes the caller the one whom interrupts reach, until it gives them back.
func (w *watch) take() (interrupts <-chan os.Signal) {
	select {
	case w.taken <- struct{}{}:
	case <-w.left:
	}
	return w.interrupts
}

// give gives the interrupts back. Those that come before the time deaf are
// dropped, except for the system's.
func (w *watch) give(deaf time.Time) {
	select {
	case w.given <- deaf:
	case <-w.left:
	}
}

// unwatched is for a program that nobody interrupts.
func unwatched() *watch {
	w := newWatch(nil)
	close(w.left)
	return w
}
