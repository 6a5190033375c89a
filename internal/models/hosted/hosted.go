// Package hosted names the tools that providers run, as journals, results and tables of prices name
// them. Providers have names of their own.
package hosted

// The names.
const (
	WebSearch     = "web_search"
	WebFetch      = "web_fetch"
	CodeExecution = "code_execution"
)

// Is reports whether a tool is one of these.
func Is(name string) bool { return name == WebSearch || name == WebFetch || name == CodeExecution }
