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
	given      chan untaken
	left       chan struct{} // closed when nobody watches any more
}

// untaken says what becomes of an interrupt that nobody has taken.
type untaken struct {
	deaf   time.Time // until then interrupts are still meant for what has ended, and are dropped
	status int       // later ones end the program with it
}

// endsProgram says that a signal is the system's, or comes since the terminal is gone: nobody is
// there to interrupt once more.
func endsProgram(s os.Signal) bool { return s == syscall.SIGTERM || s == syscall.SIGHUP }

func newWatch(interrupts <-chan os.Signal) *watch {
	return &watch{interrupts: interrupts, taken: make(chan struct{}), given: make(chan untaken), left: make(chan struct{})}
}

// run runs the program and returns its status, or that of an interrupt that nobody has taken, as
// soon as one comes.
func (w *watch) run(program func() int) int {
	ended := make(chan int, 1)
	go func() { ended <- program() }()
	return w.until(ended)
}

// until returns the status of a program that ends, or of an interrupt that nobody has taken, as soon
// as one comes.
func (w *watch) until(ended <-chan int) int {
	defer close(w.left)
	now := untaken{status: ExitInterrupted}
	for {
		select {
		case status := <-ended:
			return status
		case signal := <-w.interrupts:
			if endsProgram(signal) || time.Now().After(now.deaf) {
				return now.status
			}
			continue
		case <-w.taken:
		}
		select {
		case status := <-ended:
			return status
		case now = <-w.given:
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
func (w *watch) give(deaf time.Time) { w.pass(untaken{deaf, ExitInterrupted}) }

// finish gives the interrupts back after a result was delivered. A later interrupt ends the program with
// the status of the result.
func (w *watch) finish(status int) { w.pass(untaken{status: status}) }

func (w *watch) pass(to untaken) {
	select {
	case w.given <- to:
	case <-w.left:
	}
}

// unwatched is for a program that nobody interrupts.
func unwatched() *watch {
	w := newWatch(nil)
	close(w.left)
	return w
}
