package store

import (
	"fmt"
	"os"
	"syscall"
)

// identity tells a file from any other that replaces it, by its creation time.
func identity(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	at, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return "", nil
	}
	return fmt.Sprintf("made %d", at.CreationTime.Nanoseconds()), nil
}
