package agents

import (
	"context"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// Sidecall makes the calls of a purpose that belong to no agent (DESIGN §1).
type Sidecall struct {
	Member
	// Read returns the changes of a reply, which may be empty, to the turn. Its error is the
	// failure of the call.
	Read func(ctx context.Context, turn *effect.Turn, sidecall effect.Sidecall, reply backends.Message) (effect.Change, error)
}

// sidecallRequest returns the input of a sidecall.
func (b *inputBuilder) sidecallRequest(a effect.Sidecall) backends.Request {
	req := backends.Request{
		Key:   backends.Key{Session: b.turn.Session, Turn: b.turn.Turn, Purpose: string(a.Purpose)},
		Model: a.Model,
	}
	b.decode(a.Params, &req.Params)
	b.decode(a.Messages, &req.Messages)
	b.decode(a.Tools, &req.Tools)
	return req
}

// DescribeSidecall stores the input of a sidecall, and returns it as the turn refers to it.
func DescribeSidecall(ctx context.Context, blobs Blobs, purpose effect.Purpose, model string, params backends.Params, messages []backends.Message, tools []backends.Tool) (effect.Sidecall, error) {
	s := textStore{ctx: ctx, blobs: blobs}
	sidecall := effect.Sidecall{Purpose: purpose, Model: model, Params: s.encodeParams(params), Messages: s.encode(messages)}
	if len(tools) > 0 {
		sidecall.Tools = s.encode(tools)
	}
	return sidecall, s.err
}
