// Package backends is the vocabulary in which the rest of the program speaks to
// language models: messages and their parts, tools, one streaming call, the
// events of a stream, and errors with a kind. It knows no provider; each
// adapter lives in a folder of its own below this one.
package backends
