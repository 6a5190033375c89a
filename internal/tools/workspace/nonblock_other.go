//go:build !unix

package rootfs

// Nonblock is nothing: there are no named pipes among the files here.
const Nonblock = 0
