package backendtest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
)

func errorChecks() []check {
	return []check{
		{"error kinds", checkErrorKinds},
		{"retry after", checkRetryAfter},
		{"key is not shown", checkKeyIsNotShown},
		{"web page", checkWebPage},
		{"web page as error", checkWebPageAsError},
		{"reset", checkReset},
	}
}

func checkErrorKinds(t *testing.T, newHarness NewHarness) {
	for _, c := range []struct {
		reply ReplyError
		want  backends.Kind
	}{
		{ReplyError{Status: 400, Message: "Unknown field."}, backends.KindBadRequest},
		{ReplyError{Status: 404, Message: "No such model."}, backends.KindBadRequest},
		{ReplyError{Status: 401, Message: "Wrong key."}, backends.KindAuth},
		{ReplyError{Status: 403, Message: "Not for you."}, backends.KindAuth},
		{ReplyError{Status: 429, Message: "Slow down."}, backends.KindRateLimit},
		{ReplyError{Status: 500, Message: "Oops."}, backends.KindOverloaded},
		{ReplyError{Status: 503, Message: "Busy."}, backends.KindOverloaded},
		{ReplyError{Status: 529, Message: "Overloaded."}, backends.KindOverloaded},
		{ReplyError{Status: 400, Code: "context_length_exceeded", Message: "Too long."}, backends.KindTooLong},
	} {
		h := newHarness(t, Settings{Reply: always(Reply{Error: &c.reply})})
		_, e := h.mustFail(t, ask())
		if e.Kind != c.want || e.Status != c.reply.Status || !strings.Contains(e.Message, c.reply.Message) || e.Begun {
			t.Errorf("HTTP %d %q %q gives %+v, want kind %s and the message", c.reply.Status, c.reply.Code, c.reply.Message, e, c.want)
		}
	}
}

func checkRetryAfter(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Error: &ReplyError{
		Status: 429, Message: "later", Header: http.Header{"Retry-After": {"7"}},
	}})})
	_, e := h.mustFail(t, ask())
	same(t, "the time to wait", 7*time.Second, e.RetryAfter)
}

func checkKeyIsNotShown(t *testing.T, newHarness NewHarness) {
	const key = "sk-very-secret-1234"
	h := newHarness(t, Settings{APIKey: key, Reply: always(Reply{Error: &ReplyError{
		Status: 401, Message: "Incorrect API key provided: " + key,
	}})})
	_, e := h.mustFail(t, ask())
	for err := error(e); err != nil; {
		if strings.Contains(err.Error(), key) {
			t.Errorf("the error shows the key: %v", err)
		}
		unwrapper, ok := err.(interface{ Unwrap() error })
		if !ok {
			break
		}
		err = unwrapper.Unwrap()
	}
}

func checkWebPage(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Fault: HTMLPage})})
	_, e := h.mustFail(t, ask())
	if !strings.Contains(e.Message, "Welcome to the hotel Sign in to use the network & more.") || strings.Contains(e.Message, "color") {
		t.Errorf("the error does not show the text of the page: %s", e.Message)
	}
}

func checkWebPageAsError(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Error: &ReplyError{
		Status: 502, Body: "<html><body><h1>502 Bad Gateway</h1></body></html>",
	}})})
	_, e := h.mustFail(t, ask())
	if e.Kind != backends.KindOverloaded || !strings.Contains(e.Message, "502 Bad Gateway") || strings.Contains(e.Message, "<") {
		t.Errorf("a gateway's page gives %+v", e)
	}
}

func checkReset(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Fault: Reset})})
	if _, e := h.mustFail(t, ask()); e.Kind != backends.KindNetwork || e.Begun {
		t.Errorf("a reset gives %+v", e)
	}
}

func endChecks() []check {
	return []check{
		{"cut stream", checkCutStream},
		{"cut tool call", checkCutToolCall},
		{"error in stream", checkErrorInStream},
		{"silence before the first byte", checkFirstByteTimeout},
		{"silence in the stream", checkIdleTimeout},
		{"cancelled already", checkCancelledAlready},
		{"cancel before the first byte", checkCancelBefore},
		{"cancel in mid-stream", checkCancelMidStream},
		{"break in mid-stream", checkBreakMidStream},
		{"deadline", checkDeadline},
	}
}

// longText is broken off in its middle by the faults.
const longText = "the first half, and the second half"

func checkCutStream(t *testing.T, newHarness NewHarness) {
	for _, fault := range []Fault{CutStream, AbortStream} {
		h := newHarness(t, Settings{Reply: always(Reply{Text: longText, Fault: fault})})
		resp, e := h.mustFail(t, ask())
		if e.Kind != backends.KindNetwork || !e.Begun {
			t.Errorf("%s gives %+v", fault, e)
		}
		if text := resp.Message.Text(); text == "" || !strings.HasPrefix(longText, text) {
			t.Errorf("%s: what came before is %q", fault, text)
		}
	}
}

func checkCutToolCall(t *testing.T, newHarness NewHarness) {
	for _, fault := range []Fault{CutStream, AbortStream} {
		h := newHarness(t, Settings{Reply: always(Reply{ToolCalls: []backends.ToolCall{vote("c1", "agent1")}, Fault: fault})})
		resp, e := h.mustFail(t, ask())
		if e.Kind != backends.KindNetwork || !e.Begun {
			t.Errorf("%s gives %+v", fault, e)
		}
		if calls := resp.Message.ToolCalls(); len(calls) > 0 {
			t.Errorf("%s: half a call was yielded: %v", fault, calls)
		}
		for _, cut := range e.Cut {
			if whole := vote("c1", "agent1"); cut.Name != whole.Name || !strings.HasPrefix(whole.Arguments, cut.Arguments) {
				t.Errorf("%s: what had come of %v is %v", fault, whole, cut)
			}
		}
	}
}

func checkErrorInStream(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: longText, Fault: ErrorInStream})})
	_, e := h.mustFail(t, ask())
	if e.Kind != backends.KindOverloaded || !e.Begun || !strings.Contains(e.Message, "The server had an error") {
		t.Errorf("an error in the stream gives %+v", e)
	}
}

// soon is a time limit that a test lets pass.
const soon = 30 * time.Millisecond

func checkFirstByteTimeout(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{FirstByteTimeout: soon, Reply: always(Reply{Fault: HangBefore})})
	if _, e := h.mustFail(t, ask()); e.Kind != backends.KindTimeout || e.Begun {
		t.Errorf("silence gives %+v", e)
	}
	h.mustBecomeIdle(t)
}

// checkIdleTimeout runs in a bubble: on a busy machine the limit could pass before the
// text is read that comes first.
func checkIdleTimeout(t *testing.T, newHarness NewHarness) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Settings{InMemory: true, IdleTimeout: soon, Reply: always(Reply{Text: longText, Fault: HangMidStream})})
		start := time.Now()
		resp, e := h.mustFail(t, ask())
		if e.Kind != backends.KindTimeout || !e.Begun || resp.Message.Text() == "" {
			t.Errorf("silence after %q gives %+v", resp.Message.Text(), e)
		}
		same(t, "the time until it is given up", soon, time.Since(start))
		h.mustBecomeIdle(t)
	})
}

func checkCancelledAlready(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "too late"})})
	ctx, cancel := context.WithCancel(backends.WithTrace(t.Context(), &backends.Trace{
		RequestBody: func([]byte) { t.Error("a request was traced that was never sent") },
	}))
	cancel()
	_, err := backends.Collect(h.Backend.Stream(ctx, ask()), nil)
	if e := h.checkError(t, err); e.Kind != backends.KindCancelled || len(h.Calls()) > 0 || !e.Unbilled() {
		t.Errorf("a cancel before the call gives %+v and %d requests", e, len(h.Calls()))
	}
}

func checkCancelBefore(t *testing.T, newHarness NewHarness) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := newHarness(t, Settings{Reply: func(Call) Reply {
		cancel()
		return Reply{Fault: HangBefore}
	}})
	_, err := backends.Collect(h.Backend.Stream(ctx, ask()), nil)
	if e := h.checkError(t, err); e.Kind != backends.KindCancelled || e.Unbilled() {
		t.Errorf("a cancel gives %+v", e)
	}
	h.mustBecomeIdle(t)
}

func checkCancelMidStream(t *testing.T, newHarness NewHarness) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := newHarness(t, Settings{Reply: always(Reply{Text: longText, Fault: HangMidStream})})
	_, err := backends.Collect(h.Backend.Stream(ctx, ask()), func(backends.Event) { cancel() })
	if e := h.checkError(t, err); e.Kind != backends.KindCancelled || !e.Begun {
		t.Errorf("a cancel gives %+v", e)
	}
	h.mustBecomeIdle(t)
}

func checkBreakMidStream(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: longText, Fault: HangMidStream})})
	for _, err := range h.Backend.Stream(t.Context(), ask()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	h.mustBecomeIdle(t)
}

func checkDeadline(t *testing.T, newHarness NewHarness) {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	h := newHarness(t, Settings{Reply: always(Reply{Fault: HangBefore})})
	_, err := backends.Collect(h.Backend.Stream(ctx, ask()), nil)
	if e := h.checkError(t, err); e.Kind != backends.KindTimeout {
		t.Errorf("a deadline gives %+v", e)
	}
	h.mustBecomeIdle(t)
}
