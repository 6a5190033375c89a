package plain

import (
	"regexp"
	"sync"
)

// Pattern returns a function that returns a regular expression. It is compiled at the first call:
// most runs of a program need few of those that it has. The function is safe for concurrent use.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
