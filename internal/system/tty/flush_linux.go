package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Flush drops what was typed on a terminal and not read yet.
func Flush(terminal *os.File) error {
	return unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
