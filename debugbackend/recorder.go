package debugbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/massgen/massgen/backends"
)

// Options are the settings of a Recorder.
type Options struct {
	// Dir is the folder to which each call is written when it ends, or empty.
	// CheckDir should have approved of it.
	Dir string
	// Redact masks secrets, such as API keys that a server repeats, in everything that is written:
	// text, JSON, and bytes of any kind. It must leave all other bytes as they are, and is called
	// concurrently. Nil masks nothing. A raw response that holds a key in pieces is not written.
	Redact func(string) string
	// Participants has the ids of agents by their names in the inputs. It is empty if these are the
	// same.
	Participants map[string]string
	// Keep limits the calls in memory: beyond it the recorder forgets the oldest turns, but never
	// the newest. 0 keeps all.
	Keep int
}

// Recorder keeps every call that passes through the backends that it wraps: in memory, and in a folder
// if its options name one. It is safe for concurrent use.
type Recorder struct {
	options Options
	// large is held while a large call is written, which needs several times its memory.
	large sync.Mutex

	mu       sync.Mutex
	calls    []*recording
	attempts map[backends.Key]int
	numbers  map[string]int // the last number given, by the call's folder
	failed   int            // writes that failed
	err      error          // the first of them
}

// NewRecorder returns a recorder that has no calls yet.
func NewRecorder(options Options) *Recorder {
	return &Recorder{options: options, attempts: map[backends.Key]int{}, numbers: map[string]int{}}
}

// Wrap returns a backend that calls b and records each call. It changes no request and no event. An
// error of writing a record does not fail the call: see Err.
func (r *Recorder) Wrap(b backends.Backend) backends.Backend {
	return recordedBackend{r, b}
}

// Calls returns copies of all calls so far, those that still run included,
// sorted by turn and then by start.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	recordings := slices.Clone(r.calls)
	r.mu.Unlock()
	calls := make([]Call, len(recordings))
	for i, rec := range recordings {
		calls[i] = rec.snapshot()
	}
	sortCalls(calls)
	return calls
}

func sortCalls(calls []Call) {
	slices.SortStableFunc(calls, func(a, b Call) int {
		return cmp.Or(
			cmp.Compare(a.Request.Key.Turn, b.Request.Key.Turn),
			a.Start.Compare(b.Start),
			cmp.Compare(a.Request.Key.Agent, b.Request.Key.Agent),
			cmp.Compare(a.Number, b.Number),
		)
	})
}

type recordedBackend struct {
	recorder *Recorder
	inner    backends.Backend
}

func (b recordedBackend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		rec := b.recorder.begin(req)
		outcome := outcomePanicked
		defer func() { b.recorder.finish(rec, outcome) }()
		for ev, err := range b.inner.Stream(rec.traced(ctx), req) {
			rec.event(ev, err)
			if !yield(ev, err) {
				outcome = outcomeLeft
				return
			}
		}
		outcome = OutcomeEnded
	}
}

func (r *Recorder) begin(req backends.Request) *recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts[req.Key]++
	rec := newRecording(req)
	rec.call.Participants = r.options.Participants
	rec.call.Attempt = r.attempts[req.Key]
	rec.call.Number = r.nextNumber(req.Key)
	r.calls = append(r.calls, rec)
	r.makeRoom()
	return rec
}

// makeRoom forgets the oldest turns while there are too many calls.
func (r *Recorder) makeRoom() {
	for r.options.Keep > 0 && len(r.calls) > r.options.Keep {
		oldest, newest := turnOf(r.calls[0].key), turnOf(r.calls[len(r.calls)-1].key)
		if oldest == newest {
			return
		}
		r.calls = slices.DeleteFunc(r.calls, func(rec *recording) bool { return turnOf(rec.key) == oldest })
		maps.DeleteFunc(r.attempts, func(key backends.Key, _ int) bool { return turnOf(key) == oldest })
	}
}

// turnOf is the key of all calls of the key's turn.
func turnOf(key backends.Key) backends.Key { return backends.Key{Session: key.Session, Turn: key.Turn} }

// finish ends a recording and writes it, if there is a folder.
func (r *Recorder) finish(rec *recording, outcome Outcome) {
	rec.end(outcome)
	if r.options.Dir == "" {
		return
	}
	call := rec.snapshot()
	err := r.write(call)
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	if r.err == nil {
		r.err = fmt.Errorf("write the input of %s: %w", call.Request.Key, err)
	}
}

// write writes a call to the folder, large ones one at a time.
func (r *Recorder) write(c Call) error {
	const small = 1 << 20
	if len(c.Body)+len(c.Raw) > small {
		r.large.Lock()
		defer r.large.Unlock()
	}
	return writeCall(r.options, c)
}

// recording is a call that is being recorded. The adapter's goroutines report to its trace and may
// outlive the call: reports after its end are dropped.
type recording struct {
	key backends.Key

	mu    sync.Mutex
	began time.Time // with the monotonic clock
	call  Call
	ended bool
}

func newRecording(req backends.Request) *recording {
	began := time.Now()
	call := Call{Request: masked(req), Chars: countChars(req.Messages), Start: began.Round(0).UTC()}
	return &recording{key: req.Key, began: began, call: call}
}

// now returns the start plus the time since then, which does not depend on changes of the wall clock.
func (r *recording) now() time.Time { return r.call.Start.Add(time.Since(r.began)) }

// traced returns a context whose trace also reports to the recording.
func (r *recording) traced(ctx context.Context) context.Context {
	outer := backends.TraceFrom(ctx)
	return backends.WithTrace(ctx, &backends.Trace{
		RequestBody: func(body []byte) {
			r.sent(body)
			outer.SentRequest(body)
		},
		ResponseChunk: func(chunk []byte) {
			r.received(chunk)
			outer.ReceivedChunk(chunk)
		},
		Retry:    outer.Retry,
		Fallback: outer.Fallback,
	})
}

func (r *recording) sent(body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if r.call.Body != nil {
		r.call.EarlierBodies = append(r.call.EarlierBodies, r.call.Body)
	}
	r.call.Body = append([]byte{}, body...)
}

func (r *recording) received(chunk []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.firstByte()
	r.call.Raw = append(r.call.Raw, chunk...)
}

func (r *recording) firstByte() {
	if r.call.FirstByte.IsZero() {
		r.call.FirstByte = r.now()
	}
}

func (r *recording) event(ev backends.Event, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.call.Error = plainError(err)
		return
	}
	if _, isPiece := ev.(backends.ToolCallDelta); isPiece {
		return // the whole call follows
	}
	r.firstByte()
	r.call.Events = append(r.call.Events, seenEvent{r.now(), eventJSON{ev}})
}

// plainError returns err without its cause, which has no form in JSON.
func plainError(err error) *backends.Error {
	var e *backends.Error
	if errors.As(err, &e) {
		plain := *e
		plain.Err = nil
		return &plain
	}
	return &backends.Error{Kind: backends.KindOf(err), Message: err.Error()}
}

func (r *recording) end(outcome Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.call.End, r.call.Outcome = r.now(), outcome
	if r.call.Error != nil {
		r.call.Outcome = OutcomeFailed
	}
}

// snapshot returns the call as it is now. Its bytes never change later.
func (r *recording) snapshot() Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.call
	c.EarlierBodies = slices.Clone(c.EarlierBodies)
	c.Raw = slices.Clone(c.Raw)
	c.Events = slices.Clone(c.Events)
	c.Response = assemble(c.Events)
	return c
}
