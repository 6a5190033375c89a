// Package wire is what the adapters below backends share: one attempt over HTTP, from
// the request to the finish or the error of its answer, past the client library that
// makes the request and decodes the answer. It sends the body as it should have been
// made, shows bodies to the trace, watches for silence, reads server-sent events as
// services really write them, tells a whole answer from a cut one, and turns every
// failure into a *backends.Error in which no secret is left. It knows no wire format;
// only adapters import it.
package wire
