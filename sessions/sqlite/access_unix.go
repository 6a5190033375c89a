//go:build unix

package sqlite

import "syscall"

// mayWrite returns why this process must not write to a file. It neither opens nor
// changes it.
func mayWrite(path string) error {
	const write = 2 // W_OK of access(2)
	return syscall.Access(path, write)
}
