package agents

import (
	"context"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/machine"
)

// Aside is who makes the calls of a purpose that belong to no agent (DESIGN §1).
type Aside struct {
	Member
	// Read returns what a reply, which may be empty, changes in the turn. Its error is
	// the failure of the call.
	Read func(ctx context.Context, turn machine.Turn, aside machine.Aside, reply backends.Message) (machine.Change, error)
}

// asideRequest is the input of a call that belongs to no agent.
func (b *inputBuilder) asideRequest(a machine.Aside) backends.Request {
	req := backends.Request{
		Key:   backends.Key{Session: b.turn.Session, Turn: b.turn.Turn, Purpose: string(a.Purpose)},
		Model: a.Model,
	}
	b.decode(a.Params, &req.Params)
	b.decode(a.Messages, &req.Messages)
	b.decode(a.Tools, &req.Tools)
	return req
}

// DescribeAside stores what a call that belongs to no agent is sent, and returns it as
// the turn refers to it.
func DescribeAside(ctx context.Context, blobs Blobs, purpose machine.Purpose, model string, params backends.Params, messages []backends.Message, tools []backends.Tool) (machine.Aside, error) {
	s := textStore{ctx: ctx, blobs: blobs}
	params.Headers, params.ExtraBody = nil, nil // they belong to Member
	aside := machine.Aside{Purpose: purpose, Model: model, Params: s.encode(params), Messages: s.encode(messages)}
	if len(tools) > 0 {
		aside.Tools = s.encode(tools)
	}
	return aside, s.err
}
