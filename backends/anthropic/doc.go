// Package anthropic calls Claude, and every other service that speaks the Messages
// API, over github.com/anthropics/anthropic-sdk-go.
//
// The library makes the requests and decodes the events. Package wire reads the
// streams, because the library (1.84) takes a cut stream for a success, drops the last
// event of a stream without a blank line at its end, skips events that have no name
// of their own, and knows no time limit for silence. Its retries and its look into
// the environment are off: one call is one attempt, with what the Config says.
package anthropic
