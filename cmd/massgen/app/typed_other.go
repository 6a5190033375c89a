//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package app

import "os"

// typedLines has no way here to know whether a line was typed without taking it.
func typedLines(*os.File) (lines <-chan inputLine, stop func() (left []inputLine, begun []byte), err error) {
	return nil, func() ([]inputLine, []byte) { return nil, nil }, nil
}
