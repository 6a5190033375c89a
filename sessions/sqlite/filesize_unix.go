//go:build linux || darwin

package sqlite

import "syscall"

// sizeLimit returns how many bytes a file may have that this process writes; ok is false
// if it may have any number.
func sizeLimit() (bytes uint64, ok bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
	return limit.Cur, err == nil && limit.Cur < 1<<62 // where there is none, it is more than that
}
