//go:build unix

package talk

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasTypedAhead reports whether a line was typed on a terminal and not read yet. The terminal must not be raw.
func hasTypedAhead(terminal *os.File) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(terminal.Fd()), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}
