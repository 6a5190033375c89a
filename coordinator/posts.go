package coordinator

import (
	"fmt"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// result is a post: the result of an effect.
type result struct {
	local *localTurn
	key   effect.Key
	event effect.Reply
	// listed is not nil if the agents' tools may have changed.
	listed *toolListing
	err    error
}

// EndsWork implements driver.Post.
func (*result) EndsWork() bool { return true }

// Events implements driver.Post.
func (r *result) Events(at kernel.Time) ([]turn.Event, error) {
	key := r.key
	if r.err != nil && key.Agent == effect.NoAgent {
		return nil, fmt.Errorf("%s: %w", key.Purpose, r.err)
	}
	if r.err != nil {
		return nil, fmt.Errorf("%s, %s: %w", r.local.view.id(key.Agent), key.Purpose, r.err)
	}
	events := r.local.tools.accept(r.listed, at)
	switch ev := r.event.(type) {
	case effect.ModelReply:
		return append(events, turn.ModelDone{At: at, Key: key, Reply: ev}), nil
	case effect.ToolReply:
		return append(events, turn.ToolDone{At: at, Key: key, Reply: ev}), nil
	}
	return nil, fmt.Errorf("%s: an effect ended with %T", key, r.event)
}

// Reply implements driver.Post. Once the journal has a sidecall's result, Reply passes it to
// Sidecall.Keep.
func (r *result) Reply(err error) {
	if reply, ok := r.event.(effect.ModelReply); ok && err == nil && r.key.Agent == effect.NoAgent {
		r.local.view.keep(turn.ModelDone{Key: r.key, Reply: reply})
	}
}

// happening is an event of the turn's own goroutine, such as its first.
type happening struct {
	unheard
	event turn.Event
}

// Events implements driver.Post.
func (o happening) Events(kernel.Time) ([]turn.Event, error) { return []turn.Event{o.event}, nil }

// signal is a post that nobody waits for.
type signal string

// The clock rings; a person or a context ends the turn.
const (
	woke      signal = "woke"
	interrupt signal = "interrupt"
)

// Events implements driver.Post.
func (s signal) Events(at kernel.Time) ([]turn.Event, error) {
	if s == woke {
		return []turn.Event{kernel.Woke{At: at}}, nil
	}
	return []turn.Event{kernel.Interrupted{At: at}}, nil
}

// Reply implements driver.Post.
func (signal) Reply(error) {}

// EndsWork implements driver.Post.
func (signal) EndsWork() bool { return false }

// unheard is embedded in posts that nobody waits for and that end no work.
type unheard struct{}

// Reply implements driver.Post.
func (unheard) Reply(error) {}

// EndsWork implements driver.Post.
func (unheard) EndsWork() bool { return false }
