//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package talk

import "os"

// flushTyped cannot drop anything here.
func flushTyped(*os.File) error { return nil }
