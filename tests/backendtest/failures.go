package backendtest

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

type failure struct {
	name string
	run  func(t *testing.T, a adapter)
}

// failures is what may go wrong with any adapter's attempt.
func failures() []failure {
	return []failure{
		{"one call is one request", checkOneRequest},
		{"request that cannot be made", checkUnsendable},
		{"time limits", checkTimeLimits},
		{"reader may be slow", checkSlowReader},
		{"cancel after the answer", checkCancelAfterAnswer},
		{"every body is closed", checkBodiesAreClosed},
		{"connection is used again", checkReuse},
		{"library prints nothing", checkNothingIsPrinted},
		{"bad base URL", checkBadBaseURL},
		{"secrets are not shown", checkSecretsAreNotShown},
		{"secrets stay at home", checkSecretsStayAtHome},
		{"basic authorization stays at home", checkBasicAuthStaysAtHome},
		{"redirects that lead nowhere", checkRedirectsToNowhere},
		{"endless response", checkEndless},
		{"long stream", checkLongStream},
		{"endless text", checkEndlessText},
		{"keep-alives after the answer", checkKeepAlives},
		{"too many tool calls", checkManyCalls},
	}
}

// checkOneRequest has the service fail in ways in which libraries ask again.
func checkOneRequest(t *testing.T, a adapter) {
	for name, reply := range map[string]Reply{
		"429":          {Error: &ReplyError{Status: 429, Message: "slow"}},
		"500":          {Error: &ReplyError{Status: 500}},
		"503":          {Error: &ReplyError{Status: 503}},
		"529":          {Error: &ReplyError{Status: 529, Message: "Overloaded"}},
		"should retry": {Error: &ReplyError{Status: 429, Header: http.Header{"X-Should-Retry": {"true"}}}},
		"reset":        {Fault: Reset},
		"cut":          {Text: "ab", Fault: CutStream},
		"abort":        {Text: "ab", Fault: AbortStream},
		"empty":        {Raw: "\n"},
	} {
		server := NewProtocolServer(t, a.Protocol, always(reply))
		if e := Fail(t, a.backend(t, wire.Config{BaseURL: server.BaseURL}), ask()); e.Provider != provider {
			t.Errorf("%s: the error names the provider %q", name, e.Provider)
		}
		if n := len(server.Calls()); n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

func checkUnsendable(t *testing.T, a adapter) {
	backend := a.over(t, RoundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("sent")
	}))
	for name, change := range map[string]func(*backends.Request){
		"schema":     func(r *backends.Request) { r.Tools = []backends.Tool{{Name: "t", Schema: []byte("{")}} },
		"extra body": func(r *backends.Request) { r.Params.ExtraBody = map[string]any{"f": func() {}} },
	} {
		req := ask()
		change(&req)
		if e := Fail(t, backend, req); e.Kind != backends.KindBadRequest || e.Message == "" || !e.Unbilled() {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// checkTimeLimits takes limits in a bubble where time is free.
func checkTimeLimits(t *testing.T, a adapter) {
	const firstByte, idle = "no first byte of an answer within ", "no more of the answer within "
	for name, c := range map[string]struct {
		cfg   wire.Config
		reply Reply
		after time.Duration
		want  string
	}{
		"default of the first byte":   {reply: Reply{Fault: HangBefore}, after: 120 * time.Second, want: firstByte + "2m0s"},
		"default of silence":          {reply: Reply{Text: "ab", Fault: HangMidStream}, after: 60 * time.Second, want: idle + "1m0s"},
		"own limit of the first byte": {wire.Config{FirstByteTimeout: time.Second}, Reply{Delay: time.Hour}, time.Second, firstByte + "1s"},
		"own limit of silence": {
			wire.Config{IdleTimeout: time.Second}, Reply{Text: "ab", Fault: HangMidStream}, time.Second, idle + "1s",
		},
		"no limit":     {wire.Config{FirstByteTimeout: -1, IdleTimeout: -1}, Reply{Text: "x", Delay: 24 * time.Hour}, 24 * time.Hour, ""},
		"just in time": {reply: Reply{Text: "x", Delay: 119 * time.Second}, after: 119 * time.Second},
		"silence after the answer": {
			reply: Reply{Raw: a.samples.finished, Fault: HangMidStream}, after: wire.TrailerTimeout,
		},
		"an open connection": {
			reply: Reply{Raw: a.samples.finished + a.samples.endMark, Fault: HangMidStream}, after: a.openConnection(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				backend := a.inBubble(t, c.cfg, c.reply)
				start := time.Now()
				_, err := backends.Collect(backend.Stream(t.Context(), ask()), nil)
				if passed := time.Since(start); passed != c.after {
					t.Errorf("it took %s, want %s", passed, c.after)
				}
				var e *backends.Error
				if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &e) || e.Kind != backends.KindTimeout || e.Message != c.want) {
					t.Errorf("the call ended with %v, want %q", err, c.want)
				}
			})
		})
	}
}

// openConnection is what a connection costs that stays open after an answer: an end mark
// leaves it no more than the drain.
func (a adapter) openConnection() time.Duration {
	if a.samples.endMark == "" {
		return wire.TrailerTimeout
	}
	return 50 * time.Millisecond
}

// checkSlowReader checks that only the service's silence is measured.
func checkSlowReader(t *testing.T, a adapter) {
	synctest.Test(t, func(t *testing.T) {
		backend := a.inBubble(t, wire.Config{}, Reply{Text: strings.Repeat("longer than all buffers ", 10_000)})
		for _, err := range backend.Stream(t.Context(), ask()) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
	})
}

// checkCancelAfterAnswer: who cancels gets no answer, though all of it may have come.
func checkCancelAfterAnswer(t *testing.T, a adapter) {
	server := NewProtocolServer(t, a.Protocol, always(Reply{Raw: a.samples.finished, Fault: HangMidStream}))
	backend := a.backend(t, wire.Config{BaseURL: server.BaseURL})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := backends.Collect(backend.Stream(ctx, ask()), func(backends.Event) { cancel() })
	if backends.KindOf(err) != backends.KindCancelled {
		t.Errorf("the call ended with %v", err)
	}
}

// closeCounter counts how often a body is closed.
type closeCounter struct {
	io.Reader

	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}

// checkBodiesAreClosed: an open one would hold a connection and its goroutines.
func checkBodiesAreClosed(t *testing.T, a adapter) {
	for _, c := range []struct {
		name   string
		status int
		text   string
	}{
		{"answer", 200, a.samples.finished + a.samples.endMark}, {"no end mark", 200, a.samples.finished},
		{"cut", 200, "data: {}\n"}, {"unreadable", 200, "data: {\n\n"}, {"refused", 200, a.samples.refused},
		{"page", 200, "<html>"}, {"error", 500, "x"},
	} {
		body := &closeCounter{Reader: strings.NewReader(c.text)}
		backend := a.over(t, RoundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: c.status, Body: body, Request: r}, nil
		}))
		_, err := backends.Collect(backend.Stream(t.Context(), ask()), nil)
		if body.closed == 0 || (err == nil) != strings.HasPrefix(c.text, a.samples.finished) {
			t.Errorf("%s: closed %d times, %v", c.name, body.closed, err)
		}
	}
}

// checkNothingIsPrinted: a library may print errors to the log.
func checkNothingIsPrinted(t *testing.T, a adapter) {
	var printed strings.Builder
	usual := log.Writer()
	log.SetOutput(&printed)
	t.Cleanup(func() { log.SetOutput(usual) })
	for _, fault := range []Fault{AbortStream, ErrorInStream, HTMLPage, Reset} {
		server := NewProtocolServer(t, a.Protocol, always(Reply{Text: "ab", Fault: fault}))
		if e := Fail(t, a.backend(t, wire.Config{BaseURL: server.BaseURL}), ask()); e.Provider != provider {
			t.Errorf("%v: the error names the provider %q", fault, e.Provider)
		}
	}
	if printed.Len() > 0 {
		t.Errorf("it printed %s", printed.String())
	}
}
