package cmdline

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"
)

// Watch says whom an interrupt reaches: who has taken the interrupts, which is a
// turn or a prompt, and otherwise the program itself, which then ends. So nothing
// that blocks (a pipe, a file, a server) can hold a person up.
type Watch struct {
	interrupts <-chan os.Signal
	taken      chan struct{}
	given      chan untaken
	left       chan struct{} // closed when nobody watches any more
}

// untaken is what an interrupt does while nobody takes interrupts.
type untaken struct {
	deaf   time.Time // until then interrupts are still meant for what has ended, and are dropped
	status int       // later ones end the program with it
}

// EndsProgram reports whether a signal comes from the system, or because the terminal is gone: nobody
// can interrupt once more.
func EndsProgram(s os.Signal) bool { return s == syscall.SIGTERM || s == syscall.SIGHUP }

// NewWatch returns a watch over interrupts that nobody has taken yet.
func NewWatch(interrupts <-chan os.Signal) *Watch {
	return &Watch{interrupts: interrupts, taken: make(chan struct{}), given: make(chan untaken), left: make(chan struct{})}
}

// Run runs the program and returns its status, or that of an interrupt that nobody has taken, as
// soon as one comes.
func (w *Watch) Run(program func() int) int {
	ended := make(chan int, 1)
	go func() { ended <- program() }()
	return w.until(ended)
}

// until returns the status of a program that ends, or of an interrupt that nobody has taken, as soon
// as one comes.
func (w *Watch) until(ended <-chan int) int {
	defer close(w.left)
	now := untaken{status: ExitInterrupted}
	for {
		select {
		case status := <-ended:
			return status
		case signal := <-w.interrupts:
			if EndsProgram(signal) || time.Now().After(now.deaf) {
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

// Take returns the interrupts, which reach the caller alone until Give or Finish.
func (w *Watch) Take() (interrupts <-chan os.Signal) {
	select {
	case w.taken <- struct{}{}:
	case <-w.left:
	}
	return w.interrupts
}

// Context returns a context that the next interrupt ends.
func (w *Watch) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, _, stop := w.Contexts(ctx)
	return ctx, stop
}

// Contexts returns a context that the next interrupt ends, and one that the interrupt after it ends. stop ends both.
func (w *Watch) Contexts(ctx context.Context) (next, second context.Context, stop context.CancelFunc) {
	second, stop = context.WithCancel(ctx)
	next, end := context.WithCancel(second)
	interrupts := w.Take()
	go func() {
		for _, cancel := range []context.CancelFunc{end, stop} {
			select {
			case <-interrupts:
				cancel()
			case <-second.Done():
				return
			}
		}
	}()
	return next, second, stop
}

// Give gives the interrupts back. It drops those that come before the time deaf, except the system's.
func (w *Watch) Give(deaf time.Time) { w.pass(untaken{deaf, ExitInterrupted}) }

// Finish gives the interrupts back after a result was delivered. A later interrupt ends the program with
// the status of the result.
func (w *Watch) Finish(status int) { w.pass(untaken{status: status}) }

func (w *Watch) pass(to untaken) {
	select {
	case w.given <- to:
	case <-w.left:
	}
}

// Unwatched returns the watch of a program that nobody interrupts.
func Unwatched() *Watch {
	w := NewWatch(nil)
	close(w.left)
	return w
}

// TTY is the terminal of the process, which is raw between entered and leave.
type TTY struct {
	// interrupt delivers a Ctrl+C, which is a key while the terminal is raw.
	Interrupt func(os.Signal)

	mu      sync.Mutex
	restore func() error
	clear   func()
}

// Entered notes that the terminal is raw. Leave restores its mode, and clears the screen.
func (t *TTY) Entered(restore func() error, clear func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restore, t.clear = restore, clear
}

// Leave gives the terminal back. A screen that takes nothing any more, as after Ctrl+S,
// keeps nobody.
func (t *TTY) Leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.restore == nil {
		return
	}
	_ = t.restore() // a terminal that is gone needs no mode
	cleared := make(chan struct{})
	go func(clear func()) {
		defer close(cleared)
		clear()
	}(t.clear)
	select {
	case <-cleared:
	case <-time.After(time.Second):
	}
	t.restore, t.clear = nil, nil
}
