package cmdline

import (
	"os"
	"sync"
	"time"
)

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
