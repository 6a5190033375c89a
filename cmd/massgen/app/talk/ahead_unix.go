//go:build unix

package talk

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// isReadable waits for something to read on a terminal, and reports whether it came. A terminal that is not raw has
// whole lines.
func isReadable(terminal *os.File, wait time.Duration) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(terminal.Fd()), Events: unix.POLLIN}}, int(wait.Milliseconds()))
	return err == nil && n > 0
}
