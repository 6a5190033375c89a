package backendtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// checkEndless answers with bodies that have no end: an adapter reads
// wire.MaxResponse bytes of one, and its error says so.
func checkEndless(t *testing.T, a adapter) {
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
				checkTooLong(t, a.over(t, canned), status)
				if read > wire.MaxResponse+1 {
					t.Errorf("%d bytes were read", read)
				}
			})
		}
	}
}

// piece is the first event of the sample, which has the text "x", with another text and more fields.
func (s samples) piece(text, fields string) string {
	first, _, _ := strings.Cut(s.finished, "\n\n")
	first = strings.ReplaceAll(first, `"x"`, `"`+text+`"`)
	return strings.Replace(first, "{", "{"+fields, 1) + "\n\n"
}

// checkLongStream answers with a short text in more than wire.MaxResponse bytes: services send a lot around each token.
func checkLongStream(t *testing.T, a adapter) {
	around := `"fingerprint":"` + strings.Repeat("f", 7<<10) + `",`
	piece := a.samples.piece("x", around)
	pieces := wire.MaxResponse/len(piece) + 100
	canned := Canned{Status: http.StatusOK, Body: func() io.Reader {
		return io.MultiReader(strings.NewReader(strings.Repeat(piece, pieces)), strings.NewReader(a.samples.finished+a.samples.endMark))
	}}
	response, err := backends.Collect(a.over(t, canned).Stream(t.Context(), ask()), nil)
	if err != nil || len(response.Message.Text()) < pieces {
		t.Errorf("it ended with %v", err)
	}
}

// checkEndlessText answers with a text that has no end.
func checkEndlessText(t *testing.T, a adapter) {
	read := 0
	piece := a.samples.piece(strings.Repeat("x", 256<<10), "")
	canned := Canned{Status: http.StatusOK, Body: func() io.Reader { return &endless{more: piece, read: &read} }}
	checkTooLong(t, a.over(t, canned), http.StatusOK)
	if read > wire.MaxResponse+wire.MaxResponse/8 {
		t.Errorf("%d bytes were read", read)
	}
}

func checkTooLong(t *testing.T, backend backends.Backend, status int) {
	t.Helper()
	e := Fail(t, backend, ask())
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

// checkKeepAlives answers with a stream that has all of the answer and no end mark, and
// keeps the connection alive for ever after it. The answer is whole.
func checkKeepAlives(t *testing.T, a adapter) {
	synctest.Test(t, func(t *testing.T) {
		transport := RoundTripper(func(req *http.Request) (*http.Response, error) {
			body := &keptAlive{ctx: req.Context(), rest: a.samples.finished}
			return &http.Response{StatusCode: http.StatusOK, Body: body, Request: req}, nil
		})
		start := time.Now()
		response, err := backends.Collect(a.over(t, transport).Stream(t.Context(), ask()), nil)
		if err != nil || response.Message.Text() != "x" {
			t.Errorf("it ended with %+v, %v", response, err)
		}
		if passed := time.Since(start); passed != wire.TrailerTimeout {
			t.Errorf("it took %s, want %s", passed, wire.TrailerTimeout)
		}
	})
}

// keptAlive reads as rest, and then as a comment five times a second, until its
// request ends.
type keptAlive struct {
	ctx  context.Context
	rest string
}

func (k *keptAlive) Read(p []byte) (int, error) {
	if k.rest == "" {
		select {
		case <-time.After(200 * time.Millisecond):
			k.rest = ": keep\n\n"
		case <-k.ctx.Done():
			return 0, k.ctx.Err()
		}
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

func (k *keptAlive) Close() error { return nil }

// checkManyCalls answers with more tool calls than are taken of one answer.
func checkManyCalls(t *testing.T, a adapter) {
	var body strings.Builder
	for i := range wire.MaxCalls + 1 {
		fmt.Fprintf(&body, a.samples.call, i)
	}
	canned := Canned{Status: http.StatusOK, Body: func() io.Reader { return strings.NewReader(body.String()) }}
	if e := Fail(t, a.over(t, canned), ask()); e.Kind != backends.KindBadRequest || e.Message != wire.ErrTooManyCalls.Error() {
		t.Errorf("it ended with %v", e)
	}
}
