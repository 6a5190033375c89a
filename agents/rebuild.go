package agents

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/secrets"
	"github.com/massgen/massgen/sessions"
)

// Rebuilder rebuilds the inputs of a journal's calls, and reads their replies again. It stores
// nothing. One goroutine uses it.
type Rebuilder struct {
	texts   keptTexts
	history lastHistory
	panels  lastPanel
	steps   map[effect.Key]builtStep
}

// NewRebuilder returns a Rebuilder for a journal whose texts are in the store.
func NewRebuilder(texts sessions.Texts) *Rebuilder {
	return &Rebuilder{texts: keptTexts{texts, map[blob.Ref][]byte{}}, steps: map[effect.Key]builtStep{}}
}

// Input builds the request of a call, only from the references that the turn and the call name:
// the same journal and texts always give the same request. The error names the call. It wraps the
// store's error.
func (r *Rebuilder) Input(ctx context.Context, turn *effect.Turn, call effect.ModelCall) (backends.Request, error) {
	b := newInputBuilder(ctx, r.texts, r.panels.of(turn), turn, call)
	b.history, b.steps = r.history.read, r.steps
	return b.build(call)
}

// Recorded returns the recorded request of a call, as Recorded does.
func (r *Rebuilder) Recorded(ctx context.Context, sent effect.Sent) (backends.Request, error) {
	return Recorded(ctx, r.texts, sent)
}

// Reply reads the message of a recorded reply again, and returns the reply with its new
// reading. Anything that a message does not contain stays as recorded: the usage, a sidecall's
// changes, and whether a tool call was permitted. So does a reply without a message, and one
// with a masked secret, since the masking came after the first reading.
func (r *Rebuilder) Reply(ctx context.Context, turn *effect.Turn, call effect.ModelCall, recorded effect.ModelReply) (effect.ModelReply, error) {
	if recorded.Message == (blob.Ref{}) {
		return recorded, nil
	}
	texts := textStore{ctx: ctx, blobs: r.texts}
	if bytes.Contains(texts.get(recorded.Message), []byte(secrets.Mask)) {
		return recorded, nil
	}
	names := r.panels.of(turn)
	message := names.messageOf(&texts, recorded.Message)
	if texts.err != nil {
		return recorded, fmt.Errorf("read the reply of %s: %w", call.Key, texts.err)
	}
	again := recorded
	again.Calls = nil
	reader := newReplyReader(ctx, r.texts, names, turn, call)
	if err := reader.read(backends.Response{Message: message}, &again); err != nil {
		return recorded, err
	}
	again.Truncated = recorded.Truncated // the message has no finish reason
	for i := range min(len(again.Calls), len(recorded.Calls)) {
		again.Calls[i].Permission, again.Calls[i].Why = recorded.Calls[i].Permission, recorded.Calls[i].Why
	}
	return again, nil
}

// builtStep has the first messages of a step, and the call that they were built for.
type builtStep struct {
	from     stepStart
	messages []backends.Message
}

type stepStart struct {
	turn  effect.Turn
	offer kernel.Offer
	votes []kernel.Vote
	notes []blob.Ref
}

// keptTexts are the texts of a store, each read once, with the texts that were put, which the
// store does not get.
type keptTexts struct {
	sessions.Texts
	kept map[blob.Ref][]byte
}

func (t keptTexts) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	if data, ok := t.kept[ref]; ok {
		return data, nil
	}
	data, err := t.Texts.Get(ctx, ref)
	if err == nil {
		t.kept[ref] = data
	}
	return data, err
}

func (t keptTexts) Put(_ context.Context, data []byte) (blob.Ref, error) {
	ref := sessions.RefOf(data)
	t.kept[ref] = slices.Clone(data)
	return ref, nil
}
