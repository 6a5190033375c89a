package workspace

import "syscall"

// makeDevice makes a device that yields zero bytes without end.
func makeDevice(name string) error { return syscall.Mknod(name, syscall.S_IFCHR|0o666, 1<<8|5) }
