// Package wire is what the adapters below backends share: one exchange over
// HTTP, past the client library that makes the request and reads the answer. It
// sends the body as it should have been made, shows bodies to the trace, watches
// for silence, reads server-sent events as services really write them, and turns
// every failure into a *backends.Error in which no secret is left. It knows no
// protocol; only adapters import it.
package wire
