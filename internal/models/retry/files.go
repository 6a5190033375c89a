package retry

import "github.com/massgen/massgen/backends"

// pageTokens is about what providers count for a page of a PDF.
const pageTokens = 3000

func fileTokens(f backends.File) int {
	if f.Pages > 0 {
		return f.Pages * pageTokens
	}
	return imageTokens
}
