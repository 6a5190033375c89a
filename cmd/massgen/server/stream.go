package server

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/system/plain"
)

// refusedCalls is how long calls of a message are waited for that may never come, because a rule
// refuses them.
const refusedCalls = 300 * time.Millisecond

// pieces yields what a client is shown of a run, from what it has seen, until the turn is over or
// its tools are called: the last piece has the end of the answer, or the calls.
func (s *Server) pieces(ctx context.Context, r *run, v *view) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		reasoning, content := mask{redact: s.Redact}, mask{redact: s.Redact}
		show := func(p piece) bool {
			p.reasoning, p.content = reasoning.add(p.reasoning), content.add(p.content)
			if s.NoReasoning {
				p.reasoning = ""
			}
			return p.isEmpty() || yield(p)
		}
		last := func(p piece) {
			p.reasoning, p.content = reasoning.add(p.reasoning)+reasoning.rest(), content.add(p.content)+content.rest()
			if s.NoReasoning {
				p.reasoning = ""
			}
			if !p.isEmpty() {
				yield(p)
			}
		}
		ctx, stop := context.WithCancel(ctx)
		events := make(chan massgen.Event)
		var reader sync.WaitGroup
		defer reader.Wait()
		defer stop()
		reader.Go(func() { pass(r.events(ctx), v.seen, events, ctx.Done()) })
		patience := time.NewTimer(0)
		defer patience.Stop()
		changed := r.calls.change()
		for {
			isLate := false
			select {
			case ev, goesOn := <-events:
				if !goesOn {
					if o := r.wait(ctx); o.err == nil {
						p := v.finish(o.Answer)
						p.sources = o.Citations
						last(p)
					}
					return
				}
				if !show(v.take(ev)) {
					return
				}
			case <-changed:
				changed = r.calls.change()
				patience.Reset(refusedCalls)
			case <-patience.C:
				isLate = true
			}
			if calls, begun := r.calls.take(isLate); len(calls) > 0 && v.started >= begun {
				last(piece{calls: calls})
				return
			}
		}
	}
}

// pass passes on events but those that were seen, and closes the channel.
func pass(all iter.Seq[massgen.Event], seen int, events chan<- massgen.Event, done <-chan struct{}) {
	defer close(events)
	for ev := range all {
		if seen > 0 {
			seen--
			continue
		}
		select {
		case events <- ev:
		case <-done:
			return
		}
	}
}

// keepAlive is how often a stream has a comment where nothing else is to be sent, so that nobody
// in between takes it for dead.
const keepAlive = 15 * time.Second

// writeTimeout is how long a client may take for what is sent at once.
const writeTimeout = time.Minute

// stream is a response of server-sent events.
type stream struct {
	server  *Server
	w       http.ResponseWriter
	control *http.ResponseController

	mu     sync.Mutex // guards w, and last
	last   time.Time
	done   chan struct{}
	keeper sync.WaitGroup
}

// openStream begins a response of server-sent events.
func (s *Server) openStream(w http.ResponseWriter) *stream {
	out := &stream{server: s, w: w, control: http.NewResponseController(w), last: time.Now(), done: make(chan struct{})}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out.keeper.Go(out.keepAlive)
	return out
}

// close ends the comments. Nothing may be sent after it.
func (o *stream) close() {
	close(o.done)
	o.keeper.Wait()
}

func (o *stream) keepAlive() {
	everyKeepAlive(o.done, func() { o.put(": keep-alive\n\n", true) })
}

// everyKeepAlive calls a function now and then, until a channel is closed.
func everyKeepAlive(done <-chan struct{}, do func()) {
	ticks := time.NewTicker(keepAlive)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			do()
		case <-done:
			return
		}
	}
}

// send sends a value as one event.
func (o *stream) send(v any) { o.sendWith("", v) }

// sendEvent sends a value as an event with an id, by which a client that comes back goes on.
func (o *stream) sendEvent(id string, v any) { o.sendWith("id: "+id+"\n", v) }

// sendNamed sends a value as an event with a name.
func (o *stream) sendNamed(name string, v any) { o.sendWith("event: "+name+"\n", v) }

// sendWith sends a value as an event with other fields before it.
func (o *stream) sendWith(fields string, v any) {
	line, err := plain.JSONLine(v)
	if err != nil {
		o.server.Log.Error("an event cannot be written", "error", err)
		return
	}
	o.put(fields+"data: "+o.server.Redact(line)+"\n\n", false)
}

// sendText sends a line of text as one event.
func (o *stream) sendText(line string) { o.put("data: "+line+"\n\n", false) }

// put writes to the client. A client that is gone, or takes nothing for a minute, is found out by
// the request's context. ifIdle leaves out what is not needed soon after something else.
func (o *stream) put(text string, ifIdle bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ifIdle && time.Since(o.last) < keepAlive {
		return
	}
	o.last = time.Now()
	if err := o.control.SetWriteDeadline(o.last.Add(writeTimeout)); err != nil {
		o.server.Log.Debug("a stream has no deadline", "error", err)
	}
	o.server.writeBytes(o.w, []byte(text))
	if err := o.control.Flush(); err != nil {
		o.server.Log.Debug("a client is gone", "error", err)
	}
}
