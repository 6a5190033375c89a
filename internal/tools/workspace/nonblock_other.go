//go:build !unix

package workspace

// nonblock is nothing: there are no named pipes among the files here.
const nonblock = 0
