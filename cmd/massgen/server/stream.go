package server

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/system/plain"
)

// refusedCalls is the time to wait for more calls of a message, which never come if a rule refuses
// them.
const refusedCalls = 300 * time.Millisecond

// pieces yields the pieces of a run that follow a client's view, until the turn is over or the client's
// tools are called. The last piece has the end of the answer, or the calls.
func (o responder) pieces(ctx context.Context, r *run, v *view) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		show := func(p piece) bool {
			if o.noReasoning {
				p.reasoning = ""
			}
			isEmpty := p.reasoning == "" && p.content == "" && len(p.calls) == 0 && len(p.sources) == 0
			return isEmpty || yield(p)
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
				if goesOn && !show(v.take(ev)) {
					return
				}
				if v.answer.IsOver() || !goesOn {
					if end := r.wait(ctx); end.err == nil {
						p := v.finish(end.Answer)
						p.sources = end.Citations
						show(p)
					}
					return
				}
			case <-changed:
				changed = r.calls.change()
				patience.Reset(refusedCalls)
			case <-patience.C:
				isLate = true
			}
			if calls, begun := r.calls.take(isLate); len(calls) > 0 && v.started >= begun {
				show(piece{calls: calls})
				return
			}
		}
	}
}

// pass passes on the events after the first seen ones, and closes the channel.
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

// keepAlive is the time after which an idle stream gets a comment, so that proxies keep the connection
// open.
const keepAlive = 15 * time.Second

// stream is a response of server-sent events.
type stream struct {
	respond responder
	w       http.ResponseWriter
	control *http.ResponseController

	mu     sync.Mutex // guards w, and last
	last   time.Time
	keeper *keeper
}

// openStream begins a response of server-sent events.
func (o responder) openStream(w http.ResponseWriter) *stream {
	out := &stream{respond: o, w: w, control: http.NewResponseController(w), last: time.Now()}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out.keeper = newKeeper(func() { out.put(": keep-alive\n\n", true) })
	return out
}

// close ends the comments. Nothing may be sent after it.
func (o *stream) close() { o.keeper.close() }

// keeper calls a function once per keepAlive.
type keeper struct {
	done chan struct{}
	work sync.WaitGroup
}

func newKeeper(do func()) *keeper {
	k := &keeper{done: make(chan struct{})}
	k.work.Go(func() {
		ticks := time.NewTicker(keepAlive)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				do()
			case <-k.done:
				return
			}
		}
	})
	return k
}

// close ends the calls. It does nothing for a nil keeper.
func (k *keeper) close() {
	if k != nil {
		close(k.done)
		k.work.Wait()
	}
}

// send sends a value as one event. fields are its other fields, such as its name.
func (o *stream) send(v any, fields ...string) {
	line, err := plain.JSONLine(v)
	if err != nil {
		o.respond.log.Error("an event cannot be written", "error", err)
		return
	}
	o.put(strings.Join(append(fields, "data: "+o.respond.redact(line)), "\n")+"\n\n", false)
}

// put writes to the client. The request's context ends if the client is gone or accepts nothing for a
// minute. With ifIdle put writes nothing soon after another write.
func (o *stream) put(text string, ifIdle bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ifIdle && time.Since(o.last) < keepAlive {
		return
	}
	o.last = time.Now()
	o.respond.writeBytes(o.w, []byte(text))
	if err := o.control.Flush(); err != nil {
		o.respond.log.Debug("a client is gone", "error", err)
	}
}
