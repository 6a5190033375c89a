package server

import (
	"net/http"
	"time"
)

// writeTimeout is the longest time that one write to a client may take.
const writeTimeout = time.Minute

// timedWriter limits the time of each write to a client: a client that reads nothing would hold the response in memory.
type timedWriter struct{ http.ResponseWriter }

// newTimedWriter returns a timedWriter. It replaces the limit that the request before has left on the connection.
func newTimedWriter(w http.ResponseWriter) timedWriter {
	t := timedWriter{w}
	t.allow()
	return t
}

// allow gives the next write its time.
func (t timedWriter) allow() {
	// The recorded requests of tests support no deadline.
	_ = http.NewResponseController(t.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
}

// WriteHeader implements http.ResponseWriter.
func (t timedWriter) WriteHeader(status int) {
	t.allow()
	t.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (t timedWriter) Write(data []byte) (int, error) {
	t.allow()
	return t.ResponseWriter.Write(data)
}

// Unwrap gives http.ResponseController the writer below.
func (t timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
