package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// bodies reads the bodies of requests before they are handled, so that a slow client holds nothing up.
// It limits the memory of all bodies together.
type bodies struct {
	mu   sync.Mutex
	held int64
}

// mostHeld is the highest number of bytes of bodies in memory at a time.
const mostHeld = 512 << 20

// read reads the body of a request. The caller releases it when the request is over.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) (release func(), err error) {
	if r.Body == http.NoBody {
		return func() {}, nil
	}
	control := http.NewResponseController(w)
	// The recorded requests of tests support no deadline.
	if err := control.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	held := heldBody{of: b}
	_, err = io.Copy(&held, http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		held.release()
		w.Header().Set("Connection", "close") // the rest stays unread
		return nil, unread(err)
	}
	// The server goes on reading during the answer, to notice a client that is gone.
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		held.release()
		return nil, err
	}
	r.Body = io.NopCloser(&held.data)
	return held.release, nil
}

// unread returns the refusal of a body that was not read.
func unread(err error) error {
	var tooLong *http.MaxBytesError
	var known refusal
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &tooLong):
		return refusal{status: http.StatusRequestEntityTooLarge, code: "request_too_large", message: "the request has more than 16 MiB"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refusal{status: http.StatusRequestTimeout, code: "request_timeout", message: "the request's body took longer than 30 seconds"}
	}
	return badRequest("", "the request's body did not come whole")
}

// heldBody is a body in memory.
type heldBody struct {
	of   *bodies
	data bytes.Buffer
	size int64
}

// Write implements io.Writer.
func (h *heldBody) Write(p []byte) (int, error) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if h.of.held+int64(len(p)) > mostHeld {
		return 0, refusal{status: http.StatusServiceUnavailable, code: "overloaded", message: "the server is busy with other requests: try again", retryAfter: time.Second}
	}
	h.of.held += int64(len(p))
	h.size += int64(len(p))
	return h.data.Write(p)
}

func (h *heldBody) release() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.held -= h.size
	h.size = 0
}
