package debugbackend

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// split cuts text into n pieces of about the same length, or fewer if it has fewer characters.
func split(text string, n int) []string {
	var pieces []string
	runes := []rune(text)
	for n = min(n, len(runes)); n > 0; n-- {
		size := (len(runes) + n - 1) / n
		pieces = append(pieces, string(runes[:size]))
		runes = runes[size:]
	}
	return pieces
}

// player yields the events of one reply in time.
type player struct {
	provider string
	ctx      context.Context
	trace    *backends.Trace
	yield    func(backends.Event, error) bool
	begun    bool
	called   bool // a tool
	written  int  // characters, for the usage
}

// play yields the pieces, and reports whether to go on. The delay is spread evenly over the deltas, but the first piece
// waits as if only texts had deltas: pieces of calls do not change the times of a recording.
func (p *player) play(pieces []backends.Event, delay time.Duration) bool {
	texts, deltas := 0, 0
	for _, ev := range pieces {
		switch ev.(type) {
		case backends.TextDelta, backends.ReasoningDelta:
			texts++
			deltas++
		case backends.ToolCallDelta:
			deltas++
		}
	}
	first := delay / time.Duration(max(texts, 1))
	if !p.wait(first) {
		return false
	}
	isFirst, next := true, (delay-first)/time.Duration(max(deltas-1, 1))
	for _, ev := range pieces {
		if isDelta(ev) && !isFirst && !p.wait(next) {
			return false
		}
		isFirst = isFirst && !isDelta(ev)
		if !p.event(ev) {
			return false
		}
	}
	return true
}

func isDelta(ev backends.Event) bool {
	switch ev.(type) {
	case backends.TextDelta, backends.ReasoningDelta, backends.ToolCallDelta:
		return true
	}
	return false
}

// end ends the stream as the reply says.
func (p *player) end(r *reply, body []byte) {
	switch {
	case r.Panic != "":
		panic(r.Panic)
	case r.Hang:
		<-p.ctx.Done()
		p.cancelled()
	case r.Cut:
		p.fail(backends.KindNetwork, "the stream ended without an end mark")
	case r.Error != nil:
		e := p.newError(backends.Kind(r.Error.Kind), r.Error.Message)
		e.Status, e.RetryAfter = r.Error.Status, time.Duration(r.Error.RetryAfter)
		p.yield(nil, e)
	default:
		p.finish(r, body)
	}
}

func (p *player) finish(r *reply, body []byte) {
	reason := r.Finish
	if reason == "" {
		reason = "stop"
		if p.called {
			reason = "tool_calls"
		}
	}
	switch {
	case r.Usage == nil:
		counted := backends.Usage{InputTokens: tokens(utf8.RuneCount(body)), OutputTokens: tokens(p.written)}
		if !p.event(counted) {
			return
		}
	case !r.Usage.none:
		if !p.event(r.Usage.tokens) {
			return
		}
	}
	p.event(backends.Finish{Reason: reason})
}

func tokens(characters int) int { return (characters + 3) / 4 }

func (p *player) event(ev backends.Event) bool {
	if err := p.ctx.Err(); err != nil {
		p.cancelled()
		return false
	}
	if _, isPiece := ev.(backends.ToolCallDelta); isPiece {
		return p.yield(ev, nil) // the whole call has its line
	}
	line, err := plain.JSON(eventJSON{ev})
	if err != nil {
		p.fail(backends.KindBadRequest, err.Error())
		return false
	}
	p.trace.ReceivedChunk(append(line, '\n'))
	p.begun = true
	p.written += characters(ev)
	if _, ok := ev.(backends.ToolCall); ok {
		p.called = true
	}
	return p.yield(ev, nil)
}

func characters(ev backends.Event) int {
	switch ev := ev.(type) {
	case backends.TextDelta:
		return utf8.RuneCountInString(ev.Text)
	case backends.ReasoningDelta:
		return utf8.RuneCountInString(ev.Text)
	case backends.ToolCall:
		return utf8.RuneCountInString(ev.Name + ev.Arguments)
	}
	return 0
}

// wait waits for d and reports whether it passed before the context was done.
func (p *player) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-p.ctx.Done():
		p.cancelled()
		return false
	}
}

func (p *player) newError(kind backends.Kind, message string) *backends.Error {
	return &backends.Error{Kind: kind, Provider: p.provider, Message: message, Begun: p.begun}
}

func (p *player) fail(kind backends.Kind, message string) {
	p.yield(nil, p.newError(kind, message))
}

func (p *player) cancelled() {
	err := p.ctx.Err()
	e := p.newError(backends.KindOf(err), err.Error())
	e.Err = err
	p.yield(nil, e)
}
