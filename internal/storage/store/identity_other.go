//go:build !linux && !windows

package store

import (
	"fmt"
	"os"
	"syscall"
)

// identity tells a file from any other that replaces it.
func identity(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	at, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", nil
	}
	return fmt.Sprintf("device %d file %d", at.Dev, at.Ino), nil
}
