//go:build !unix

package snapshot

// There are no named pipes among the files here.
const nonblock = 0
