//go:build judges

package judges

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/tests/backendtest"
)

// ordeal is what llmock does to a call, and what has to come of it.
type ordeal struct {
	name   string
	faults []object
	// attempts is how many requests the call costs.
	attempts int
	// silence is how long the adapter bears none of an answer, 0 for its defaults.
	silence time.Duration
	// jitter is how much of their ceilings the waits between attempts have, 0 for little.
	jitter float64
	// kind is that of the error; empty means that there is an answer.
	kind backends.Kind
	// begun is set if a part of the answer came before the error.
	begun bool
	// findings are what llmock has against the client.
	findings []string
}

// ordeals are what every adapter has to go through. A call that has begun to stream is
// not repeated, but fails (DESIGN §7). llmock sees only that it is not repeated, and
// takes that for carrying on with half an answer.
func ordeals() []ordeal {
	return []ordeal{
		{name: "nothing", attempts: 1},
		{name: "slow", faults: []object{{"type": "slow_first_token", "seconds": 0.1}}, attempts: 1},

		{name: "429", faults: []object{fail(429, 0.3), fail(429, 0.3)}, attempts: 3},
		{name: "500", faults: []object{{"type": "fail", "status": 500, "times": 3}}, attempts: 4, jitter: 1},
		{name: "503", faults: []object{fail(503, 1)}, attempts: 2},
		{name: "529", faults: []object{fail(529, 0.1)}, attempts: 2},
		{name: "outage", faults: []object{{"type": "fail", "status": 503, "retry_after": 0.1, "times": nil}},
			attempts: retry.DefaultMaxAttempts, kind: backends.KindOverloaded},

		{name: "400", faults: []object{fail(400, 0)}, attempts: 1, kind: backends.KindBadRequest},
		{name: "401", faults: []object{fail(401, 0)}, attempts: 1, kind: backends.KindAuth},
		{name: "403", faults: []object{fail(403, 0)}, attempts: 1, kind: backends.KindAuth},
		{name: "404", faults: []object{fail(404, 0)}, attempts: 1, kind: backends.KindBadRequest},
		{name: "422", faults: []object{fail(422, 0)}, attempts: 1, kind: backends.KindBadRequest},

		{name: "disconnect at once", faults: []object{breakStream("disconnect", 0)}, attempts: 2},
		{name: "truncate at once", faults: []object{breakStream("truncate", 0)}, attempts: 2},
		{name: "stall at once", faults: []object{breakStream("stall", 0)}, attempts: 2, silence: soon},

		{name: "disconnect", faults: []object{breakStream("disconnect", begun)}, attempts: 1,
			kind: backends.KindNetwork, begun: true, findings: []string{"gave_up"}},
		{name: "truncate", faults: []object{breakStream("truncate", begun)}, attempts: 1,
			kind: backends.KindNetwork, begun: true, findings: []string{"truncated_stream_accepted"}},
		{name: "malformed", faults: []object{breakStream("malformed", begun)}, attempts: 1,
			kind: backends.KindNetwork, begun: true, findings: []string{"malformed_chunk_ignored"}},
		{name: "stall", faults: []object{breakStream("stall", begun)}, attempts: 1, silence: soon,
			kind: backends.KindTimeout, begun: true},
	}
}

// fail is an answer with a status, and a time to wait in seconds, 0 for none.
func fail(status int, wait float64) object {
	out := object{"type": "fail", "status": status}
	if wait > 0 {
		out["retry_after"] = wait
	}
	return out
}

// breakStream breaks a stream after so many chunks.
func breakStream(kind string, after int) object {
	return object{"type": "stream_fault", "kind": kind, "after_chunks": after}
}

// begun is after how many chunks a part of the text has come in every protocol.
const begun = 6

// soon is a time limit that a test lets pass: far longer than a busy machine takes for
// an answer, and far shorter than the 30 s of a stall.
const soon = 10 * time.Second

// TestFaults has llmock break the answers to calls, and grade what the client does.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			mock := startLLMock(t)
			for _, o := range ordeals() {
				t.Run(o.name, func(t *testing.T) { undergo(t, mock, s, o) })
			}
			t.Run("too long", func(t *testing.T) { sendTooMuch(t, mock, s) })
			for _, kind := range []string{"malformed_arguments", "unknown_tool"} {
				t.Run(kind, func(t *testing.T) { meetBrokenCall(t, mock, s, kind) })
			}
			t.Run("bad client", func(t *testing.T) { beBad(t, mock, s) })
		})
	}
}

func undergo(t *testing.T, mock llmock, s subject, o ordeal) {
	mock.behave(t, o.faults...)
	resp, err := backends.Collect(repeated(t, mock, s, o).Stream(t.Context(), plain(s)), nil)
	var e *backends.Error
	switch {
	case o.kind == "" && (err != nil || resp.Message.Text() == "" || resp.Finish == ""):
		t.Errorf("there is no answer: %+v, %v", resp, err)
	case o.kind != "" && (!errors.As(err, &e) || e.Kind != o.kind || e.Begun != o.begun):
		t.Errorf("it ended with %+v, want %s", e, o.kind)
	}
	if o.begun && resp.Message.Text() == "" {
		t.Error("nothing came before it broke")
	}
	v := mock.verdict(t)
	if v.Attempts != o.attempts {
		t.Errorf("it cost %d requests, not %d", v.Attempts, o.attempts)
	}
	if diff := cmp.Diff(o.findings, v.codes()); diff != "" {
		t.Errorf("llmock found something else (-want +got):\n%s", diff)
	}
}

// repeated is the adapter for llmock, with retries. llmock measures the waits between
// attempts: where it looks for longer and longer ones, they have to differ by more than
// the time that a busy machine takes for the rest.
func repeated(t *testing.T, mock llmock, s subject, o ordeal) backends.Backend {
	t.Helper()
	adapter := s.dial(t, mock.baseURL(s), backendtest.Settings{FirstByteTimeout: o.silence, IdleTimeout: o.silence})
	random := func() float64 { return max(o.jitter, 0.1) }
	return retry.New(adapter, retry.NewGate(s.name, retry.Limits{}, retry.NewLimiter(retry.Limits{})), retry.Options{Random: random})
}

// plain is a request to a model that the adapter knows.
func plain(s subject) backends.Request {
	req := requests()["plain"]
	req.Model = s.models[1]
	return req
}

// sendTooMuch sends more than the model takes.
func sendTooMuch(t *testing.T, mock llmock, s subject) {
	mock.behave(t)
	req := plain(s)
	req.Messages = []backends.Message{backends.User(strings.Repeat("word ", 2*contextWindow))}
	_, err := backends.Collect(repeated(t, mock, s, ordeal{}).Stream(t.Context(), req), nil)
	if v := mock.verdict(t); backends.KindOf(err) != backends.KindTooLong || v.Attempts != 1 {
		t.Errorf("it cost %d requests and ended with %v", v.Attempts, err)
	}
}

// meetBrokenCall has the model call a tool in a way that nothing can be done with. The
// conversation goes on with an error for a result.
func meetBrokenCall(t *testing.T, mock llmock, s subject, kind string) {
	mock.behave(t, object{"type": "tool_fault", "kind": kind})
	backend := repeated(t, mock, s, ordeal{})
	req := requests()["tools"]
	req.Model = s.models[1]
	resp, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	calls := resp.Message.ToolCalls()
	if err != nil || len(calls) != 1 {
		t.Fatalf("%d calls came, and %v", len(calls), err)
	}
	req.Messages = append(slices.Clone(req.Messages), resp.Message, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{
		backends.ToolResult{CallID: calls[0].ID, Name: calls[0].Name, Content: "no such thing", IsError: true},
	}})
	resp, err = backends.Collect(backend.Stream(t.Context(), req), nil)
	if v := mock.verdict(t); err != nil || resp.Message.Text() == "" || v.Attempts != 2 || len(v.Findings) > 0 {
		t.Errorf("after %+v: %+v, %v, %+v", calls[0], resp, err, v)
	}
}

// beBad repeats a call at once, whatever the error: a judge that finds nothing is none.
// What it is asked to wait is far more than the time between two calls.
func beBad(t *testing.T, mock llmock, s subject) {
	adapter := s.dial(t, mock.baseURL(s), backendtest.Settings{})
	for finding, fault := range map[string]object{"retry_after_ignored": fail(429, 60), "retried_non_retryable": fail(401, 0)} {
		mock.behave(t, fault)
		for range 2 {
			_, _ = backends.Collect(adapter.Stream(t.Context(), plain(s)), nil) // llmock says how it ended
		}
		if codes := mock.verdict(t).codes(); !slices.Equal(codes, []string{finding}) {
			t.Errorf("llmock found %q, not %s", codes, finding)
		}
	}
}
