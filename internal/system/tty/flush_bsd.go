//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Flush drops what was typed on a terminal and not read yet.
func Flush(terminal *os.File) error {
	const forReading = 1 // FREAD
	return unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, forReading)
}
