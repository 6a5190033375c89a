package plain

import (
	"regexp"
	"sync"
)

// Pattern returns a function that compiles a regular expression at its first call and returns it: a run
// of the program needs few of its expressions. The function is safe for concurrent use.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
