package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/kernel"
)

// Tool is something that an agent can do beside answering and voting. It is safe
// for concurrent use: the calls of one message run at once.
type Tool interface {
	// Definition is what the model is told of the tool.
	Definition() backends.Tool
	// Call runs the tool. Arguments is the model's text, valid JSON or not. An
	// error is told to the model as the call's result, and does not end the step.
	Call(ctx context.Context, arguments string) (string, error)
}

// ErrorResult is an error of a Tool that has a form of its own for results. It is told
// to the model as it stands.
type ErrorResult string

func (e ErrorResult) Error() string { return string(e) }

// Member is an agent as the effects see it: what its calls go to.
type Member struct {
	Backend backends.Backend
	Tools   []Tool
	// Headers and ExtraBody are sent with every call. They may hold secrets, so they
	// are neither journaled nor part of the input.
	Headers   map[string]string
	ExtraBody map[string]any
}

// Doer runs effects. It is safe for concurrent use.
type Doer struct {
	Blobs Blobs
	// Members stand in the config's order.
	Members []Member
	// Observe is shown what a model streams, as it comes. It may be nil.
	Observe func(machine.Key, backends.Event)
	// Panicked is told of an effect that panicked, with its stack. It may be nil.
	Panicked func(key machine.Key, stack []byte)

	history lastHistory
}

// Do runs one effect to its one result. What goes wrong is in the result; the
// error is only for a store that does not work, after which no result would be
// right. A cancelled ctx ends the call and not the use of the store, so that it is
// never taken for a fault of the store.
func (d *Doer) Do(ctx context.Context, turn machine.Turn, effect machine.Effect) (machine.Event, error) {
	switch e := effect.(type) {
	case machine.ModelCall:
		return d.callModel(ctx, turn, e)
	case machine.ToolCall:
		return d.callTool(ctx, e)
	}
	return nil, fmt.Errorf("unknown effect %T", effect)
}

func (d *Doer) callModel(ctx context.Context, turn machine.Turn, call machine.ModelCall) (machine.Event, error) {
	stored := context.WithoutCancel(ctx)
	names := namesOf(turn)
	req, err := input(stored, d.Blobs, turn, names, d.history.read, call)
	if err != nil {
		return nil, err
	}
	var observe func(backends.Event)
	if d.Observe != nil {
		observe = func(ev backends.Event) { d.Observe(call.Key, ev) }
	}
	member := d.Members[call.Key.Agent]
	req.Params.Headers, req.Params.ExtraBody = member.Headers, member.ExtraBody
	var reply machine.ModelReply
	resp, err := backends.Collect(member.Backend.Stream(notingFallback(ctx, &reply), req), observe)
	reply.Usage = usage(resp.Usage, err)
	if err != nil {
		reply.Failure = failure(ctx, err)
		return reply, nil
	}
	// A reply that has come and was paid for is kept, even if the call was
	// cancelled meanwhile.
	reader := d.reader(stored, turn, names, call)
	err = reader.read(resp, &reply)
	return reply, err
}

// Read returns what Do would if the model replied to the call with message.
func (d *Doer) Read(ctx context.Context, turn machine.Turn, call machine.ModelCall, message backends.Message) (machine.ModelReply, error) {
	var reply machine.ModelReply
	reader := d.reader(context.WithoutCancel(ctx), turn, namesOf(turn), call)
	err := reader.read(backends.Response{Message: message}, &reply)
	return reply, err
}

func (d *Doer) reader(ctx context.Context, turn machine.Turn, names panelNames, call machine.ModelCall) replyReader {
	return replyReader{
		ctx: ctx, blobs: d.Blobs, turn: turn, call: call,
		own: definitions(d.Members[call.Key.Agent].Tools), names: names,
	}
}

// failure cleans the text, which may be a provider's: it is shown on terminals, and
// what is journaled must read back the same.
func failure(ctx context.Context, err error) *machine.Failure {
	kind := backends.KindOf(err)
	if errors.Is(ctx.Err(), context.Canceled) {
		kind = backends.KindCancelled
	}
	var e *backends.Error
	noTools := errors.As(err, &e) && e.NoTools
	return &machine.Failure{Kind: string(kind), Message: contextbuild.Clean(err.Error()), NoTools: noTools}
}

func definitions(tools []Tool) []backends.Tool {
	list := make([]backends.Tool, len(tools))
	for i, t := range tools {
		list[i] = t.Definition()
	}
	return list
}

// callTool runs the tool that a message's call names. A tool that fails gives the
// model an error result.
func (d *Doer) callTool(ctx context.Context, e machine.ToolCall) (machine.Event, error) {
	stored := context.WithoutCancel(ctx)
	data, err := d.Blobs.Get(stored, e.Message)
	if err != nil {
		return nil, err
	}
	var message backends.Message
	if err := json.Unmarshal(data, &message); err != nil {
		return nil, fmt.Errorf("read the message of %s: %w", e.Key, err)
	}
	result, failed := d.runTool(ctx, e, message)
	ref, err := d.Blobs.Put(stored, []byte(contextbuild.Clean(result)))
	if err != nil {
		return nil, err
	}
	return machine.ToolReply{Index: e.Key.Index, Result: ref, Error: failed}, nil
}

func (d *Doer) runTool(ctx context.Context, e machine.ToolCall, message backends.Message) (result string, failed bool) {
	defer func() {
		if r := recover(); r != nil {
			result, failed = fmt.Sprintf("Error: the tool %s broke down (%v). Go on without it.", e.Name, r), true
		}
	}()
	calls := message.ToolCalls()
	for _, t := range d.Members[e.Key.Agent].Tools {
		if e.Call < len(calls) && t.Definition().Name == e.Name {
			out, err := t.Call(ctx, calls[e.Call].Arguments)
			return told(out, err), err != nil
		}
	}
	return fmt.Sprintf("Error: the tool %s is not there any more. Go on without it.", e.Name), true
}

func told(out string, err error) string {
	var own ErrorResult
	switch {
	case err == nil:
		return out
	case errors.As(err, &own):
		return string(own)
	}
	return "Error: " + err.Error()
}

// Describe stores what an agent's calls have in common and returns it as the turn
// refers to it.
func Describe(ctx context.Context, blobs Blobs, id, system, model string, params backends.Params, tools []Tool) (machine.Agent, error) {
	agent := machine.Agent{ID: id, Model: model}
	var err error
	if agent.System, err = blobs.Put(ctx, []byte(contextbuild.Clean(system))); err != nil {
		return agent, err
	}
	params.Headers, params.ExtraBody = nil, nil // they belong to Member
	if agent.Params, err = PutJSON(ctx, blobs, params); err != nil {
		return agent, err
	}
	if len(tools) > 0 {
		agent.Tools, err = PutJSON(ctx, blobs, definitions(tools))
	}
	return agent, err
}

// PutJSON stores v as JSON.
func PutJSON(ctx context.Context, blobs Blobs, v any) (kernel.Ref, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return kernel.Ref{}, fmt.Errorf("encode %T: %w", v, err)
	}
	return blobs.Put(ctx, data)
}
