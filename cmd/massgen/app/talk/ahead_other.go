//go:build !unix

package talk

import "os"

// hasTypedAhead cannot know it here.
func hasTypedAhead(*os.File) bool { return false }
