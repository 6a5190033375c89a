package telemetry

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/system/blob"
)

// Work is an effect that a worker has performed for a turn which another program follows.
type Work struct {
	// Session and Turn name the turn, and Question is the reference of its question, zero without one.
	Session  string
	Turn     int
	Question blob.Ref
	// Tool is the name of the tool that was called, empty for a model call.
	Tool string
	// Agent and Purpose say whose effect it is, and Try how often it was begun before.
	Agent, Purpose string
	Try            int
	// Worker names the process.
	Worker string
	// Scheduled is when the effect could be begun, Started and Ended when it was begun and had ended.
	Scheduled, Started, Ended time.Time
	// Failure is the kind of its error, empty for success.
	Failure string
}

// Performed sends a span for an effect, below the span of its turn, with others of the same seconds. It returns at
// once. It must not be called after Close.
func (e *Exporter) Performed(w Work) {
	if e.traces == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.performed = append(e.performed, w.span()); len(e.performed) > 1 {
		return // they are sent with the first
	}
	e.work.Go(func() {
		select {
		case <-time.After(delay):
		case <-e.closing:
		}
		e.mu.Lock()
		spans := e.performed
		e.performed = nil
		e.mu.Unlock()
		e.sendSpans(spans)
	})
}

func (w *Work) span() *span {
	const perform = "perform "
	trace := traceOf(w.Session, w.Turn, w.Question.SHA256)
	sum := sha256.Sum256(fmt.Appendf(trace[:], " %q %q %q %d %q %d", w.Agent, w.Purpose, w.Tool, w.Try, w.Worker, w.Started.UnixNano()))
	s := &span{trace: trace, id: [8]byte(sum[:8]), parent: idOf(trace, 1), name: perform + chat, kind: kindConsumer, start: w.Started, end: w.Ended}
	if w.Tool != "" {
		s.name = perform + executeTool + " " + w.Tool
		s.add(toolKey, w.Tool)
	}
	s.add("gen_ai.conversation.id", w.Session)
	s.add(agentKey, w.Agent)
	s.add("massgen.purpose", w.Purpose)
	s.add("massgen.worker", w.Worker)
	s.add("massgen.try", w.Try)
	s.add("massgen.queued_ms", int(w.Started.Sub(w.Scheduled).Milliseconds()))
	s.fail(w.Failure)
	return s
}
