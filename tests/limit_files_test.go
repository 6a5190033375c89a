//go:build linux || darwin

package tests

import (
	"fmt"
	"syscall"
)

// limitFiles limits the files that this process, and those that it starts, may write to so
// many bytes, if any; lift ends that for this process.
func limitFiles(bytes string) (lift func() error, err error) {
	if bytes == "" {
		return func() error { return nil }, nil
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return nil, err
	}
	limited := before
	if _, err := fmt.Sscan(bytes, &limited.Cur); err != nil {
		return nil, err
	}
	return func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) }, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited)
}
