package app

import "os"

// watch says whom an interrupt reaches: who has taken the interrupts, which is a
// turn or a prompt, and otherwise the program itself, which then ends. So nothing
// that blocks (a pipe, a file, a server) can hold a person up.
type watch struct {
	interrupts   <-chan os.Signal
	taken, given chan struct{}
	left         chan struct{} // closed when nobody watches any more
}

func newWatch(interrupts <-chan os.Signal) *watch {
	return &watch{interrupts: interrupts, taken: make(chan struct{}), given: make(chan struct{}), left: make(chan struct{})}
}

// until returns the status of a program that ends, or ExitInterrupted as soon as
// an interrupt comes that nobody has taken.
func (w *watch) until(ended <-chan int) int {
	defer close(w.left)
	for {
		select {
		case status := <-ended:
			return status
		case <-w.interrupts:
			return ExitInterrupted
		case <-w.taken:
		}
		select {
		case status := <-ended:
			return status
		case <-w.given:
		}
	}
}

// take makes the caller the one whom interrupts reach, until it gives them back.
func (w *watch) take() (interrupts <-chan os.Signal, give func()) {
	w.pass(w.taken)
	return w.interrupts, func() { w.pass(w.given) }
}

func (w *watch) pass(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	case <-w.left:
	}
}

// unwatched is for a program that nobody interrupts.
func unwatched() *watch {
	w := newWatch(nil)
	close(w.left)
	return w
}
