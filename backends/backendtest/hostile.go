package backendtest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/wire"
)

// RunEndless answers with bodies that have no end: an adapter reads
// wire.MaxResponse bytes of one, and its error says so.
func RunEndless(t *testing.T, newBackend NewBackend) {
	kilobyte := strings.Repeat("x", 1<<10)
	for name, body := range map[string]struct{ start, more string }{
		"comments":     {"", ": " + kilobyte + "\n"},
		"lines":        {"", kilobyte + "\n"},
		"events":       {"", `data: {"more":"` + kilobyte + "\"}\n\n"},
		"one line":     {"data: ", kilobyte},
		"whole answer": {`{"more":"`, kilobyte},
	} {
		for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
			t.Run(name+" "+http.StatusText(status), func(t *testing.T) {
				read := 0
				canned := Canned{Status: status, Body: func() io.Reader {
					return &endless{rest: body.start, more: body.more, read: &read}
				}}
				checkEndless(t, newBackend(t, canned), status)
				if read > wire.MaxResponse+1 {
					t.Errorf("%d bytes were read", read)
				}
			})
		}
	}
}

func checkEndless(t *testing.T, backend backends.Backend, status int) {
	t.Helper()
	_, err := backends.Collect(backend.Stream(t.Context(), ask()), nil)
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("it ended with %v, which is no *backends.Error", err)
	}
	if status == http.StatusOK && (e.Kind != backends.KindBadRequest || e.Message != wire.ErrTooLong.Error()) {
		t.Errorf("it ended with %s %q", e.Kind, e.Message)
	}
}

// endless reads as rest, and then as more again and again.
type endless struct {
	rest, more string
	read       *int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.more
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	*e.read += n
	return n, nil
}
