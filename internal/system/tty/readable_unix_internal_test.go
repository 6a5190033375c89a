//go:build unix

package tty

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSignalEndsNoWait polls again after a signal: the rest of a paste may still come.
func TestSignalEndsNoWait(t *testing.T) {
	for ready, want := range map[int]bool{0: false, 1: true} {
		polls := 0
		got := becomesReadable(func(wait time.Duration) (int, error) {
			if polls++; polls < 3 {
				return -1, unix.EINTR
			}
			if wait < 0 || wait > time.Hour {
				t.Errorf("poll %d waits %v", polls, wait)
			}
			return ready, nil
		}, time.Hour)
		if got != want || polls != 3 {
			t.Errorf("%d are ready: got %v after %d polls", ready, got, polls)
		}
	}
	if becomesReadable(func(time.Duration) (int, error) { return -1, unix.EBADF }, time.Hour) {
		t.Error("a broken terminal is readable")
	}
}
