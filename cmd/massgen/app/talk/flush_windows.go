package talk

import (
	"os"

	"golang.org/x/sys/windows"
)

// flushTyped drops what was typed on a console and not read yet.
func flushTyped(terminal *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(terminal.Fd()))
}
