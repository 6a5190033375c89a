// Package wire is what the adapters below backends share: one attempt over HTTP, from
// the request to the finish or the error of its answer, under the client library that
// makes the request. It sends the adapter's body, keeps the answer from the library,
// shows both to the trace, watches for silence, reads server-sent events as services
// really write them, tells a whole answer from a cut one, and turns every failure into a
// *backends.Error in which no secret is left. It knows no wire format; only adapters
// import it.
package wire
