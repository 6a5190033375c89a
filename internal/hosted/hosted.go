// Package hosted names the tools that providers run, as journals, results and tables of prices name
// them. Providers have names of their own.
package hosted

// The names.
const (
	WebSearch     = "web_search"
	WebFetch      = "web_fetch"
	CodeExecution = "code_execution"
)
