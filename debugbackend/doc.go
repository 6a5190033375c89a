// Package debugbackend is for looking at model calls and for doing without a
// model. Scripted is a backend that answers by a script; tests and the offline
// demo use it. Recorder wraps any backend and keeps each input exactly as it was
// sent, with what came back; the rest of the package writes such records to a
// folder, reads them again, and prints and compares them.
package debugbackend
