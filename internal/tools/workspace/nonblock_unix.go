//go:build unix

package rootfs

import "syscall"

// Nonblock keeps the opening of a named pipe from waiting for its other end.
const Nonblock = syscall.O_NONBLOCK
