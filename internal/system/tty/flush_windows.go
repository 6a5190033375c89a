package tty

import (
	"os"

	"golang.org/x/sys/windows"
)

// Flush drops what was typed on a console and not read yet.
func Flush(terminal *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(terminal.Fd()))
}
