//go:build unix

package app_test

import (
	"errors"
	"os"
	"syscall"
)

// hold opens a file that is held until all who have it open have ended, however.
func hold(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
}

func isHeld(name string) (bool, error) {
	err := lock(name, syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// awaitRelease waits until nobody holds a file.
func awaitRelease(name string) error { return lock(name, 0) }

func lock(name string, how int) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
