package agents

import (
	"context"
	"fmt"

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

// callAside makes a call that belongs to no agent. Whatever goes wrong with it is a
// failure in its reply: the turn goes on without.
func (d *Doer) callAside(ctx context.Context, turn machine.Turn, call machine.ModelCall, h *heard) (machine.Event, error) {
	stored := context.WithoutCancel(ctx)
	b := newInputBuilder(stored, d.Blobs, turn, panelNames{}, call)
	req, err := b.build(call)
	if err != nil {
		return nil, err
	}
	sent, err := d.sent.note(b, req)
	if err != nil {
		return nil, err
	}
	aside, ok := d.Asides[call.Key.Purpose]
	if !ok {
		return machine.ModelReply{Usage: &machine.Usage{CostUSD: new(float64)}, Failure: &machine.Failure{
			Kind: "missing", Message: fmt.Sprintf("no model is set for the purpose %s any more", call.Key.Purpose),
		}}, nil
	}
	resp, reply, err := d.send(ctx, aside.Member, call.Key, req, h)
	reply.Sent = sent
	if err != nil || reply.Failure != nil {
		return reply, err
	}
	reader := replyReader{ctx: stored, blobs: d.Blobs, turn: turn, call: call}
	if err := reader.read(resp, &reply); err != nil {
		return nil, err
	}
	if reply.Change, err = aside.Read(stored, turn, *call.Aside, resp.Message); err != nil {
		reply.Change = machine.Change{}
		reply.Failure = &machine.Failure{Kind: "reply", Message: failure(ctx, err).Message}
	}
	return reply, nil
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
	aside := machine.Aside{Purpose: purpose, Model: model}
	params.Headers, params.ExtraBody = nil, nil // they belong to Member
	var err error
	if aside.Params, err = PutJSON(ctx, blobs, params); err != nil {
		return aside, err
	}
	if aside.Messages, err = PutJSON(ctx, blobs, messages); err != nil {
		return aside, err
	}
	if len(tools) > 0 {
		aside.Tools, err = PutJSON(ctx, blobs, tools)
	}
	return aside, err
}
