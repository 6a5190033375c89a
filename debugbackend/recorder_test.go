package debugbackend

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// fakeBackend is a stream made of a function.
type fakeBackend func(ctx context.Context, yield func(backends.Event, error) bool)

func (f fakeBackend) Stream(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) { f(ctx, yield) }
}

// answering reports bytes to the trace and answers after two seconds.
func answering(ctx context.Context, yield func(backends.Event, error) bool) {
	trace := backends.TraceFrom(ctx)
	trace.SentRequest([]byte("sent\xff"))
	time.Sleep(time.Second)
	trace.ReceivedChunk([]byte("raw "))
	time.Sleep(time.Second)
	trace.ReceivedChunk([]byte("response"))
	_ = yield(backends.TextDelta{Text: "an"}, nil) &&
		yield(backends.TextDelta{Text: "swer"}, nil) &&
		yield(backends.ToolCall{ID: "1", Name: "vote", Arguments: "{}"}, nil) &&
		yield(backends.Opaque{Provider: "p", Model: "m", Data: []byte(`{"a":1}`)}, nil) &&
		yield(backends.Usage{InputTokens: 3}, nil) &&
		yield(backends.Finish{Reason: "stop"}, nil)
}

func request(turn int, agent string) backends.Request {
	temperature := 0.5
	return backends.Request{
		Key:   backends.Key{Session: "s", Turn: turn, Agent: agent, Round: 1, Purpose: "coordination"},
		Model: "m",
		Messages: []backends.Message{
			backends.System("sys"), backends.User("ä user"),
			{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Reasoning{Text: "hm"}, backends.ToolCall{ID: "1", Name: "x", Arguments: "{}"}}},
			{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "1", Name: "x", Content: "res"}}},
		},
		Tools:  []backends.Tool{{Name: "vote", Description: "votes", Schema: []byte(`{"type":"object"}`)}},
		Params: backends.Params{Temperature: &temperature, Headers: map[string]string{"Authorization": "Bearer sk-secret"}},
	}
}

func TestRecorderKeepsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outerSent, outerReceived string
		ctx := backends.WithTrace(t.Context(), &backends.Trace{
			RequestBody:   func(b []byte) { outerSent += string(b) },
			ResponseChunk: func(b []byte) { outerReceived += string(b) },
		})
		rec := NewRecorder(Options{})
		req := request(1, "a")
		start := time.Now().UTC()
		events, err := ask(ctx, rec.Wrap(fakeBackend(answering)), req)
		if err != nil || len(events) != 6 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		if outerSent != "sent\xff" || outerReceived != "raw response" {
			t.Errorf("the outer trace saw %q and %q", outerSent, outerReceived)
		}
		wantReq := request(1, "a")
		wantReq.Params.Headers["Authorization"] = "[masked]"
		end := start.Add(2 * time.Second)
		want := []Call{{
			Number: 1, Attempt: 1, Request: wantReq, Chars: Chars{System: 3, User: 6, Other: 7, Total: 16},
			Body: []byte("sent\xff"), Raw: []byte("raw response"),
			Events: []seenEvent{{end, eventJSON{events[0]}}, {end, eventJSON{events[1]}}, {end, eventJSON{events[2]}}, {end, eventJSON{events[3]}}, {end, eventJSON{events[4]}}, {end, eventJSON{events[5]}}},
			Response: backends.Response{
				Message: backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Text{Text: "answer"}, events[2].(backends.ToolCall), events[3].(backends.Opaque)}},
				Usage:   &backends.Usage{InputTokens: 3}, Finish: "stop",
			},
			Outcome: OutcomeEnded, Start: start, FirstByte: start.Add(time.Second), End: end,
		}}
		if diff := cmp.Diff(want, rec.Calls()); diff != "" {
			t.Error(diff)
		}
		if req.Params.Headers["Authorization"] != "Bearer sk-secret" {
			t.Error("the caller's request was changed")
		}
	})
}

func TestRecorderKeepsHowACallEnds(t *testing.T) {
	limited := &backends.Error{Kind: backends.KindRateLimit, Provider: "p", Message: "slow", Status: 429, RetryAfter: time.Second, Err: errors.New("inner")}
	for _, tc := range []struct {
		name    string
		backend fakeBackend
		outcome Outcome
		err     *backends.Error
	}{
		{"an Error", func(_ context.Context, yield func(backends.Event, error) bool) { yield(nil, limited) }, OutcomeFailed,
			&backends.Error{Kind: backends.KindRateLimit, Provider: "p", Message: "slow", Status: 429, RetryAfter: time.Second}},
		{"another error", func(_ context.Context, yield func(backends.Event, error) bool) { yield(nil, context.Canceled) }, OutcomeFailed,
			&backends.Error{Kind: backends.KindCancelled, Message: "context canceled"}},
		{"no event", func(context.Context, func(backends.Event, error) bool) {}, OutcomeEnded, nil},
		{"a panic", func(context.Context, func(backends.Event, error) bool) { panic("lost") }, outcomePanicked, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := NewRecorder(Options{})
			func() {
				defer func() {
					if (recover() != nil) != (tc.outcome == outcomePanicked) {
						t.Error("the panic was not passed on")
					}
				}()
				_, err := ask(t.Context(), rec.Wrap(tc.backend), request(1, "a"))
				if (err != nil) != (tc.err != nil) {
					t.Errorf("the caller got %v", err)
				}
			}()
			call := rec.Calls()[0]
			if call.Outcome != tc.outcome || call.End.IsZero() {
				t.Errorf("outcome %q, end %v", call.Outcome, call.End)
			}
			if diff := cmp.Diff(tc.err, call.Error); diff != "" {
				t.Error(diff)
			}
			if call.Body != nil || !call.FirstByte.IsZero() {
				t.Errorf("nothing was sent or received, but body %q, first byte %v", call.Body, call.FirstByte)
			}
		})
	}
	if limited.Err == nil {
		t.Error("the caller's error was changed")
	}
}

func TestRecorderOfAReaderThatStops(t *testing.T) {
	rec := NewRecorder(Options{})
	for range rec.Wrap(mustParse(t, "rules:\n- reply: {text: abc, chunks: 3}")).Stream(t.Context(), request(1, "a")) {
		break
	}
	call := rec.Calls()[0]
	if call.Outcome != outcomeLeft || call.Response.Message.Text() != "a" {
		t.Errorf("outcome %q, text %q", call.Outcome, call.Response.Message.Text())
	}
}

func TestRecorderShowsARunningCallAndDropsWhatComesLate(t *testing.T) {
	var late *backends.Trace
	rec := NewRecorder(Options{})
	b := rec.Wrap(fakeBackend(func(ctx context.Context, yield func(backends.Event, error) bool) {
		late = backends.TraceFrom(ctx)
		late.SentRequest([]byte("first"))
		late.SentRequest([]byte("second"))
		call := rec.Calls()[0]
		if call.Outcome != "" || !call.End.IsZero() || string(call.Body) != "second" || len(call.EarlierBodies) != 1 || string(call.EarlierBodies[0]) != "first" {
			t.Errorf("while it runs: %+v", call)
		}
	}))
	if _, err := ask(t.Context(), b, request(1, "a")); err != nil {
		t.Fatal(err)
	}
	late.SentRequest([]byte("third"))
	late.ReceivedChunk([]byte("late"))
	if call := rec.Calls()[0]; string(call.Body) != "second" || call.Raw != nil {
		t.Errorf("what came late was recorded: %q, %q", call.Body, call.Raw)
	}
}

func TestRecorderDoesNotKeepTheSlicesOfATrace(t *testing.T) {
	rec := NewRecorder(Options{})
	b := rec.Wrap(fakeBackend(func(ctx context.Context, _ func(backends.Event, error) bool) {
		buffer := []byte("body")
		backends.TraceFrom(ctx).SentRequest(buffer)
		backends.TraceFrom(ctx).ReceivedChunk(buffer)
		copy(buffer, "gone")
	}))
	if _, err := ask(t.Context(), b, request(1, "a")); err != nil {
		t.Fatal(err)
	}
	if call := rec.Calls()[0]; string(call.Body) != "body" || string(call.Raw) != "body" {
		t.Errorf("got %q and %q", call.Body, call.Raw)
	}
}

func TestRecorderSortsAndNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := NewRecorder(Options{})
		b := rec.Wrap(mustParse(t, "rules:\n- reply: {delay: 1s}"))
		for _, k := range []struct {
			turn  int
			agent string
		}{{2, "a"}, {1, "b"}, {1, "a"}, {1, "b"}} {
			if _, err := ask(t.Context(), b, request(k.turn, k.agent)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, c := range rec.Calls() {
			got = append(got, fmt.Sprintf("%d %s number %d attempt %d", c.Request.Key.Turn, c.Request.Key.Agent, c.Number, c.Attempt))
		}
		want := []string{"1 b number 1 attempt 1", "1 a number 1 attempt 1", "1 b number 2 attempt 2", "2 a number 1 attempt 1"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// record calls b once for each turn of a session.
func record(t *testing.T, b backends.Backend, session string, turns ...int) {
	t.Helper()
	for _, turn := range turns {
		req := request(turn, "a")
		req.Key.Session = session
		if _, err := ask(t.Context(), b, req); err != nil {
			t.Fatal(err)
		}
	}
}

func keptCalls(r *Recorder) string {
	var kept []string
	for _, c := range r.Calls() {
		kept = append(kept, fmt.Sprintf("%s%d.%d/%d", c.Request.Key.Session, c.Request.Key.Turn, c.Number, c.Attempt))
	}
	return strings.Join(kept, " ")
}

func TestRecorderKeepsTheNewestTurns(t *testing.T) {
	rec := NewRecorder(Options{Keep: 4})
	b := rec.Wrap(mustParse(t, "rules:\n- reply: {text: x}"))
	record(t, b, "s", 1, 1, 2, 2)
	if got := keptCalls(rec); got != "s1.1/1 s1.2/2 s2.1/1 s2.2/2" {
		t.Errorf("kept %s: four are not too many", got)
	}
	record(t, b, "s", 3)
	if got := keptCalls(rec); got != "s2.1/1 s2.2/2 s3.1/1" {
		t.Errorf("kept %s: the oldest turn goes as a whole", got)
	}
	record(t, b, "s", 4, 4, 4, 4, 4, 4)
	if got := keptCalls(rec); !strings.HasPrefix(got, "s4.1/1 ") || !strings.HasSuffix(got, " s4.6/6") {
		t.Errorf("kept %s: the newest turn is kept whole", got)
	}
	if len(rec.attempts) != 1 {
		t.Errorf("%d counts of attempts are kept", len(rec.attempts))
	}
}

func TestRecorderIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	rec := NewRecorder(Options{Dir: t.TempDir()})
	b := rec.Wrap(mustParse(t, "rules:\n- reply: {text: abcdef, chunks: 6}"))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if _, err := ask(t.Context(), b, request(1+i%2, fmt.Sprintf("agent%d", i%4))); err != nil {
				t.Error(err)
			}
			rec.Calls()
		})
	}
	wg.Wait()
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadDir(rec.options.Dir)
	if err != nil {
		t.Fatal(err)
	}
	byNumber := cmpopts.SortSlices(func(a, b Call) bool {
		return fmt.Sprint(a.Request.Key, a.Number) < fmt.Sprint(b.Request.Key, b.Number)
	})
	if diff := cmp.Diff(rec.Calls(), loaded, byNumber); diff != "" || len(loaded) != 40 {
		t.Errorf("%d calls loaded\n%s", len(loaded), diff)
	}
}

func TestPartChars(t *testing.T) {
	message := func(role backends.Role, p backends.Part) []backends.Message {
		return []backends.Message{{Role: role, Parts: []backends.Part{p}}}
	}
	for _, tc := range []struct {
		in   []backends.Message
		want Chars
	}{
		{[]backends.Message{backends.System("é\u2028𝄞")}, Chars{System: 3, Total: 3}},
		{[]backends.Message{backends.User(strings.Repeat("ü", 1000)), backends.User("x")}, Chars{User: 1001, Total: 1001}},
		{message(backends.RoleUser, backends.Image{URL: "https://x"}), Chars{}},
		{message(backends.RoleAssistant, backends.Opaque{Data: []byte("1")}), Chars{}},
	} {
		if got := countChars(tc.in); got != tc.want {
			t.Errorf("%v: got %+v, want %+v", tc.in, got, tc.want)
		}
	}
}
