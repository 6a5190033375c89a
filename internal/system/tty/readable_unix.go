//go:build unix

package tty

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// IsReadable waits for something to read on a terminal, and reports whether it came. A terminal that is not raw has
// whole lines.
func IsReadable(terminal *os.File, wait time.Duration) bool {
	return becomesReadable(func(wait time.Duration) (int, error) {
		return unix.Poll([]unix.PollFd{{Fd: int32(terminal.Fd()), Events: unix.POLLIN}}, int(wait.Milliseconds()))
	}, wait)
}

// becomesReadable polls until something is there or the wait is over. A signal interrupts a poll, but ends no wait.
func becomesReadable(poll func(time.Duration) (int, error), wait time.Duration) bool {
	deadline := time.Now().Add(wait)
	n, err := poll(wait)
	for errors.Is(err, unix.EINTR) {
		n, err = poll(max(time.Until(deadline), 0))
	}
	return err == nil && n > 0
}
