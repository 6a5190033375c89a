//go:build !unix

package tty

import (
	"os"
	"time"
)

// IsReadable cannot know it here.
func IsReadable(*os.File, time.Duration) bool { return false }
