//go:build !unix

package talk

import (
	"os"
	"time"
)

// isReadable cannot know it here.
func isReadable(*os.File, time.Duration) bool { return false }
