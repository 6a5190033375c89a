package talk

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushTyped drops what was typed on a terminal and not read yet.
func flushTyped(terminal *os.File) error {
	return unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
