// Package gemini calls Google's Gemini models, over google.golang.org/genai and
// its Gemini Developer API.
//
// That library (1.77) loses things on the way: it sorts the fields of a tool's
// schema, drops an empty text and with it the part that carries a signature, reads
// a call's arguments into floating-point numbers, fails on a signature in another
// base64 than its own, prints errors of the stream, and by default goes on by itself
// with a stream that may be resumed. So this package makes the body (request.go,
// params.go) and reads the events (answer.go) itself, in the form that parts.go gives,
// over package wire; the library knows the address and the headers, and sends the
// request.
package gemini
