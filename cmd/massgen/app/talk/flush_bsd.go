//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package talk

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushTyped drops what was typed on a terminal and not read yet.
func flushTyped(terminal *os.File) error {
	const forReading = 1 // FREAD
	return unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, forReading)
}
