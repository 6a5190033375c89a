package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/massgen/massgen/internal/system/heavy"
	"github.com/massgen/massgen/internal/system/plain"
)

// bodies reads the bodies of requests before they are handled, so that a slow client holds nothing up.
// It limits the memory of all bodies together.
type bodies struct {
	mu   sync.Mutex
	held int64
}

// The budget of bodies. Decoding takes more memory than a body: for each value, such as {}, and for copies
// of its texts. mostHeld is the highest number of bytes that all bodies take together.
const (
	mostHeld   = 256 << 20
	mostValues = 200_000
	mostDepth  = 200
	perValue   = 256
)

type bodyKey struct{}

// returnBody returns the memory of a request's body to the budget, once the request's turn has begun. The turn has
// limits of its own, and may take longer than other requests can wait.
func returnBody(ctx context.Context) {
	if release, ok := ctx.Value(bodyKey{}).(func()); ok {
		release()
	}
}

// read reads the body of a request. The caller releases it when the request is over, or earlier.
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
	if held.refused != nil {
		return nil, held.refused
	}
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
	if bytes.HasPrefix(held.data.Bytes(), []byte(plain.ByteOrderMark)) {
		held.data.Next(len(plain.ByteOrderMark))
	}
	r.Body, r.ContentLength = &held, int64(held.data.Len())
	return held.release, nil
}

// unread returns the refusal of a body that was not read.
func unread(err error) error {
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return refusal{status: http.StatusRequestEntityTooLarge, code: "request_too_large", message: "the request has more than 16 MiB"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refusal{status: http.StatusRequestTimeout, code: "request_timeout", message: "the request's body took longer than 30 seconds"}
	}
	return badRequest("", "the request's body did not come whole")
}

// heldBody is a body in memory.
type heldBody struct {
	of    *bodies
	data  bytes.Buffer
	shape heavy.Shape
	size  int64
	// refused is the refusal of a body that exceeds the budget.
	refused error
}

// Write implements io.Writer. It refuses the body as soon as that exceeds the budget. From then on it keeps
// nothing, and takes the rest: many clients read no answer before they have sent all.
func (h *heldBody) Write(p []byte) (int, error) {
	if h.refused == nil {
		h.refused = h.keep(p)
	}
	if h.refused != nil {
		h.release()
		h.data = bytes.Buffer{}
	}
	return len(p), nil
}

// keep keeps the next bytes of the body, or returns its refusal.
func (h *heldBody) keep(p []byte) error {
	before := h.shape.Values
	h.shape.Add(p)
	if h.shape.Deepest > mostDepth {
		return badRequest("", fmt.Sprintf("the request is nested more than %d levels deep", mostDepth))
	}
	if h.shape.Values > mostValues {
		return refusal{
			status: http.StatusRequestEntityTooLarge, code: "request_too_large",
			message: "the request has more than " + plain.Thousands(mostValues) + " values: send less in one request",
		}
	}
	size := int64(len(p)) + perValue*int64(h.shape.Values-before)
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if h.of.held+size > mostHeld {
		return refusal{status: http.StatusServiceUnavailable, code: codeOverloaded, message: "the server is busy with other requests: try again", retryAfter: time.Second}
	}
	h.of.held += size
	h.size += size
	_, err := h.data.Write(p)
	return err
}

// Read implements io.Reader.
func (h *heldBody) Read(p []byte) (int, error) { return h.data.Read(p) }

// Close implements io.Closer. It drops the bytes: what was decoded is still held.
func (h *heldBody) Close() error {
	h.data = bytes.Buffer{}
	return nil
}

func (h *heldBody) release() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.held -= h.size
	h.size = 0
}

// decodes runs the decoding of a request's body. A large body waits until there is room for what decoding
// takes.
func decodes(r *http.Request, decode func() error) error {
	const few = 1 << 20 // bytes of a body that always has room
	if r.ContentLength <= few {
		return decode()
	}
	const copies = 4
	return heavy.Bodies.Do(r.Context(), copies*r.ContentLength+perValue*mostValues, decode)
}
