//go:build !unix

package workspace

// nonblock is 0: there are no named pipes among the files here.
const nonblock = 0
