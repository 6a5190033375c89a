package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// streamAnswer is a server's answer to a GET: a response, or an error of the connection.
type streamAnswer struct {
	status         int
	location, text string
	err            error
}

func events(text string) streamAnswer { return streamAnswer{status: http.StatusOK, text: text} }

func refusal(status int) streamAnswer { return streamAnswer{status: status} }

// streamOfTexts returns a transport that answers each GET with the next of the answers, and the last of
// them without end. The Last-Event-ID of each request is in asked.
func streamOfTexts(asked *[]string, answers ...streamAnswer) http.RoundTripper {
	base := tripper(func(req *http.Request) (*http.Response, error) {
		a := answers[min(len(*asked), len(answers)-1)]
		*asked = append(*asked, req.Header.Get(lastEventHeader))
		if a.err != nil {
			return nil, a.err
		}
		header := http.Header{}
		if a.status == http.StatusOK {
			header.Set("Content-Type", eventStream)
		}
		if a.location != "" {
			header.Set("Location", a.location)
		}
		return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.text))}, nil
	})
	return streamTripper{carefulTripper{base: base, listening: &listening{}, questions: newQuestions(context.Background()), posted: &atomic.Int32{}}}
}

// listened returns what a client reads from the stream within an hour, and how reading ended.
func listened(t *testing.T, server http.RoundTripper) (status int, text string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docs.example.com/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(read), err
}

const (
	changedEvent = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n"
	messageEvent = `data: {"jsonrpc":"2.0","method":"notifications/message"}` + "\n\n"
)

// A stream that was there and is refused later has ended. The session goes on.
func TestARefusedStreamHasEnded(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 405, 406, 410, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			_, text, err := listened(t, streamOfTexts(&asked, events("event: ping\ndata: \n\n"+changedEvent), refusal(status)))
			if text != changedEvent || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %d it ended with %v, and had %q", status, err, text)
			}
			if isTransient(status) != (len(asked) > 2) {
				t.Errorf("after %d it was asked for %d times", status, len(asked))
			}
		})
	}
}

// A stream that ends often, as behind a proxy with a limit, is opened again after its last event.
func TestAStreamThatEndsIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		failed := streamAnswer{err: errors.New("connection refused")}
		_, text, err := listened(t, streamOfTexts(&asked,
			events(changedEvent), events("id: 7\nretry: 2000\n"+messageEvent), failed, events(": quiet\n\n"), events(""), events(""),
			events(""), events(""), events(changedEvent), refusal(http.StatusMethodNotAllowed)))
		if text != changedEvent+messageEvent+changedEvent || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q, %v", text, err)
		}
		if want := []string{"", "", "7", "7", "7", "7", "7", "7", "7", "7"}; !slices.Equal(asked, want) {
			t.Errorf("it was asked for after %q", asked)
		}
	})
}

// What is no message costs itself.
func TestAStreamLeavesOutWhatIsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		long := "data: " + strings.Repeat("x", mostMessage) + "\n\n"
		_, text, _ := listened(t, streamOfTexts(&asked, events("no colon\n\ndata: hello\n\n"+long+"data: {}\n\n"+messageEvent+"data: {\"json"), refusal(405)))
		if text != messageEvent {
			t.Errorf("%d bytes: %.200q", len(text), text)
		}
	})
}

// A server that refuses the stream from the beginning has none, and is not asked again.
func TestAServerThatRefusesTheStreamHasNone(t *testing.T) {
	for name, answer := range map[string]streamAnswer{
		"401": refusal(401), "403": refusal(403), "404": refusal(404), "500": refusal(500), "503": refusal(503), "204": refusal(204), "101": refusal(101),
		"302": {status: http.StatusFound, location: "https://login.example.com"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			began := time.Now()
			status, text, err := listened(t, streamOfTexts(&asked, answer))
			if status != http.StatusMethodNotAllowed || text != "" || err != nil || len(asked) != 1 || time.Since(began) > 0 {
				t.Errorf("%s: %d, %q, %v, asked %d times in %v", name, status, text, err, len(asked), time.Since(began))
			}
		})
	}
}
