package agents

import (
	"bytes"
	"context"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/secrets"
	"github.com/massgen/massgen/sessions"
)

// Rebuilder rebuilds the inputs of one turn's calls, and reads their replies again. It stores
// nothing. One goroutine uses it.
type Rebuilder struct {
	cache  *Cache
	shared *shared // nil before the first call
}

// NewRebuilder returns a Rebuilder for a journal whose texts are in the store.
func NewRebuilder(texts sessions.Texts) *Rebuilder {
	return &Rebuilder{cache: NewCache(unstored{texts})}
}

func (r *Rebuilder) of(turn *effect.Turn) *shared {
	if r.shared == nil {
		r.shared = newShared(turn, r.cache)
	}
	return r.shared
}

// Input builds the request of a call, only from the references that the turn and the call name:
// the same journal and texts always give the same request. The error names the call. It wraps the
// store's error.
func (r *Rebuilder) Input(ctx context.Context, turn *effect.Turn, call effect.ModelCall) (backends.Request, error) {
	b := newInputBuilder(ctx, r.of(turn), turn, call)
	return b.build(call)
}

// Recorded returns the recorded request of a call, as Recorded does.
func (r *Rebuilder) Recorded(ctx context.Context, sent effect.Sent) (backends.Request, error) {
	return Recorded(ctx, r.cache, sent)
}

// Reply reads the message of a recorded reply again, and returns the reply with its new
// reading. Anything that a message does not contain stays as recorded: the usage, a sidecall's
// changes, and whether a tool call was permitted. So does a reply without a message, and one
// with a masked secret, since the masking came after the first reading.
func (r *Rebuilder) Reply(ctx context.Context, turn *effect.Turn, call effect.ModelCall, recorded effect.ModelReply) (effect.ModelReply, error) {
	if recorded.Message == (blob.Ref{}) {
		return recorded, nil
	}
	texts := newTextStore(ctx, r.cache)
	if bytes.Contains(texts.get(recorded.Message), []byte(secrets.Mask)) {
		return recorded, nil
	}
	message := decoded[backends.Message](&texts, recorded.Message)
	if texts.err != nil {
		return recorded, fmt.Errorf("read the reply of %s: %w", call.Key, texts.err)
	}
	again := recorded
	again.Calls = nil
	reader := newReplyReader(ctx, r.of(turn), turn, call)
	if err := reader.read(backends.Response{Message: message}, &again); err != nil {
		return recorded, err
	}
	// The message has no finish reason.
	again.Truncated, again.Finish, again.Cut, again.Blank = recorded.Truncated, recorded.Finish, recorded.Cut, recorded.Blank
	for i := range min(len(again.Calls), len(recorded.Calls)) {
		again.Calls[i].Permission, again.Calls[i].Why = recorded.Calls[i].Permission, recorded.Calls[i].Why
	}
	return again, nil
}

// unstored is a store that does not get the texts that are put.
type unstored struct{ sessions.Texts }

// Put returns the reference of a text.
func (unstored) Put(_ context.Context, data []byte) (blob.Ref, error) {
	return sessions.RefOf(data), nil
}
