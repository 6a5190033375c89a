//go:build !unix

package workspace

// There are no named pipes among the files here.
const nonblock = 0
