//go:build unix

package snapshot

import "syscall"

// nonblock keeps the opening of what became a named pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK
