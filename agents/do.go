package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/blob"
)

// Tool is an action of an agent beside answering and voting. It is safe for concurrent use: the
// calls of one message run in parallel.
type Tool interface {
	// Definition is the description of the tool for models.
	Definition() backends.Tool
	// Call runs the tool. arguments is the model's text, valid JSON or not. The model gets an
	// error as the call's result, and the step goes on. A result that is not valid text is an
	// error. Of a result that is too long, the model gets the beginning and the end. Other work
	// goes on in Call's goroutine afterwards: Call leaves no thread locked (runtime.LockOSThread).
	Call(ctx context.Context, arguments string) (string, error)
}

// ErrorResult is an error of a Tool with its own form of results. The model gets it unchanged.
type ErrorResult string

func (e ErrorResult) Error() string { return string(e) }

// Member is an agent as the effects see it: its backend and its tools.
type Member struct {
	Backend backends.Backend
	Tools   []Tool
	// Headers and ExtraBody are sent with every call. They may hold secrets, so they
	// are neither journaled nor part of the input.
	Headers   map[string]string
	ExtraBody map[string]any
	// Plan reports whether a call before the final answer is only planned, and returns the text
	// that replaces its result. Nil plans none.
	Plan func(tool Tool, arguments string) (result string, planned bool)
	// Permit decides whether a tool call may run, and names the rule, for the journal and for
	// those who read that the call was denied. Nil permits all.
	Permit func(tool, arguments string) (permission effect.Permission, why string)
	// KeepResult stores the whole of a tool's result that is cut for the model, in a place that
	// the agent can read, and returns the place. It may be nil.
	KeepResult func(name, result string) (where string, err error)
	// Snapshot copies the agent's present workspace, for an answer; nil for an agent without a
	// workspace.
	Snapshot func(ctx context.Context, of CallInfo) (Snapshot, error)
	// Takes says which files the model takes that a tool returns.
	Takes attach.Takes
}

// Doer runs effects. It is safe for concurrent use.
type Doer struct {
	Blobs Blobs
	// Members stand in the config's order. While effects are under way, only SetTools changes
	// them.
	Members []Member
	// Sidecalls make the calls that belong to no agent, by purpose.
	Sidecalls map[effect.Purpose]Sidecall
	// Histories keeps the histories of earlier turns. It may be nil.
	Histories *Histories
	// Observe gets the streamed events of an agent's model. It may be nil.
	Observe func(effect.Key, backends.Event)
	// Panicked gets the key and the stack of an effect that panicked. It may be nil.
	Panicked func(key effect.Key, stack []byte)

	history lastHistory
	panels  lastPanel
	sent    sentRecords
	members sync.RWMutex // guards Members and Sidecalls
}

// SetTools gives an agent other tools for the effects that begin from now on; effects under way
// keep theirs.
func (d *Doer) SetTools(agent int, tools []Tool) {
	d.members.Lock()
	defer d.members.Unlock()
	d.Members[agent].Tools = tools
}

// SetSidecall replaces what makes the calls of a purpose that begin from now on.
func (d *Doer) SetSidecall(purpose effect.Purpose, s Sidecall) {
	d.members.Lock()
	defer d.members.Unlock()
	d.Sidecalls[purpose] = s
}

func (d *Doer) sidecall(purpose effect.Purpose) (s Sidecall, ok bool) {
	d.members.RLock()
	defer d.members.RUnlock()
	s, ok = d.Sidecalls[purpose]
	return s, ok
}

func (d *Doer) member(agent int) Member {
	d.members.RLock()
	defer d.members.RUnlock()
	return d.Members[agent]
}

// do runs an effect to its one result.
func (d *Doer) do(ctx context.Context, turn *effect.Turn, eff effect.Effect, r *running) (effect.Reply, error) {
	switch e := eff.(type) {
	case effect.ModelCall:
		var reply effect.ModelReply
		err := d.callModel(ctx, turn, &e, &r.heard, &reply)
		return reply, err
	case effect.ToolCall:
		if e.IsSnapshot() {
			return d.takeSnapshot(ctx, turn, e)
		}
		return d.callTool(ctx, turn, e, r)
	}
	return nil, fmt.Errorf("unknown effect %T", eff)
}

// callModel makes a call, and stores its result in reply. Its frame is on the stack during the call: few
// copies keep that stack within the size that package stack gives it.
func (d *Doer) callModel(ctx context.Context, turn *effect.Turn, call *effect.ModelCall, h *heard, reply *effect.ModelReply) error {
	stored := context.WithoutCancel(ctx)
	var req backends.Request
	sent, err := d.input(stored, turn, call, &req)
	if err != nil {
		return err
	}
	to, ok := d.callee(call)
	if !ok {
		reply.Usage = &effect.Usage{CostUSD: new(float64)}
		reply.Failure = &effect.Failure{Kind: "missing", Message: fmt.Sprintf("no model is set for the purpose %s any more", call.Key.Purpose)}
		return nil
	}
	reply.Sent = sent
	resp, err := d.send(ctx, &to.Member, call.Key, &req, h, reply)
	if err != nil || reply.Failure != nil {
		return err
	}
	// A reply that has arrived and was paid for is kept, even if the call was cancelled
	// meanwhile.
	if err := d.read(stored, turn, call, &to.Member, resp, reply); err != nil || call.Sidecall == nil {
		return err
	}
	if reply.Change, err = to.Read(stored, turn, *call.Sidecall, resp.Message); err != nil {
		reply.Change = effect.Change{}
		reply.Failure = &effect.Failure{Kind: "reply", Message: failure(ctx, err).Message}
	}
	return nil
}

// input builds the input of a call into req, and notes it. What it needs of the stack is free again during
// the call.
func (d *Doer) input(ctx context.Context, turn *effect.Turn, call *effect.ModelCall, req *backends.Request) (sent *effect.Sent, err error) {
	b := newInputBuilder(ctx, d.Blobs, d.panels.of(turn), turn, *call)
	b.histories = d.Histories
	b.history = func(ctx context.Context, blobs Blobs, turn *effect.Turn, last int) ([]contextbuild.Exchange, error) {
		return d.history.readWith(ctx, d.Histories, blobs, turn, last)
	}
	if *req, err = b.build(*call); err != nil {
		return nil, err
	}
	if sent, err = d.sent.note(&b, *req); err != nil {
		return nil, err
	}
	req.Messages, err = b.loaded(req.Messages)
	return sent, err
}

// callee returns the agent or the sidecall that serves a call. ok is false if none is set.
func (d *Doer) callee(call *effect.ModelCall) (to Sidecall, ok bool) {
	purpose := call.Key.Purpose
	if purpose.IsStepSummary() {
		purpose = effect.Summarizing
	}
	if call.Sidecall == nil && purpose != effect.Summarizing {
		return Sidecall{Member: d.member(call.Key.Agent)}, true
	}
	return d.sidecall(purpose)
}

// send makes a call, and records its cost and, if it failed, the reason and the received part
// of the message. The error is for a store that failed.
func (d *Doer) send(ctx context.Context, to *Member, key effect.Key, req *backends.Request, h *heard, reply *effect.ModelReply) (resp backends.Response, err error) {
	observe := func(ev backends.Event) {
		h.add(ev)
		if d.Observe != nil && key.Agent != effect.NoAgent && !key.Purpose.IsStepSummary() {
			d.Observe(key, ev)
		}
	}
	var fallback *effect.Fallback
	resp, failed := backends.Collect(to.stream(notingFallback(ctx, &fallback), req), observe)
	reply.Usage, reply.Fallback = usage(resp.Usage, failed), fallback
	if failed != nil {
		reply.Failure = failure(ctx, failed)
		reply.Partial, err = d.keepPartial(ctx, h, failed)
	}
	return resp, err
}

// stream begins a call. It is not inlined, so that the copy of the request leaves the stack before the call
// is under way.
//
//go:noinline
func (m *Member) stream(ctx context.Context, req *backends.Request) iter.Seq2[backends.Event, error] {
	req.Params.Headers, req.Params.ExtraBody = m.Headers, m.ExtraBody
	return m.Backend.Stream(ctx, *req)
}

// Read returns the result of Perform for a call to which the model replies with message.
func (d *Doer) Read(ctx context.Context, turn *effect.Turn, call effect.ModelCall, message backends.Message) (effect.ModelReply, error) {
	var reply effect.ModelReply
	to := d.member(call.Key.Agent)
	err := d.read(context.WithoutCancel(ctx), turn, &call, &to, backends.Response{Message: message}, &reply)
	return reply, err
}

// read stores a call's response in reply.
func (d *Doer) read(ctx context.Context, turn *effect.Turn, call *effect.ModelCall, to *Member, resp backends.Response, reply *effect.ModelReply) error {
	reader := newReplyReader(ctx, d.Blobs, d.panels.of(turn), turn, *call)
	reader.permit = to.Permit
	return reader.read(resp, reply)
}

// failure cleans the text, which may be a provider's: terminals show it, and the journal must
// read back the same.
func failure(ctx context.Context, err error) *effect.Failure {
	kind := backends.KindOf(err)
	if errors.Is(ctx.Err(), context.Canceled) && kind != backends.KindBudget { // the budget ended the call before the cancel
		kind = backends.KindCancelled
	}
	var e *backends.Error
	f := &effect.Failure{Kind: string(kind), Message: contextbuild.Clean(err.Error())}
	if errors.As(err, &e) {
		f.NoTools, f.Unsent = e.NoTools, e.Unsent
	}
	return f
}

func definitions(tools []Tool) []backends.Tool {
	list := make([]backends.Tool, len(tools))
	for i, t := range tools {
		list[i] = t.Definition()
	}
	return list
}

// Describe stores the data that an agent's calls share and returns it as the turn refers to it.
func Describe(ctx context.Context, blobs Blobs, id, system, model string, params backends.Params, tools []Tool) (effect.Agent, error) {
	s := textStore{ctx: ctx, blobs: blobs}
	agent := effect.Agent{ID: id, Model: model, System: s.put([]byte(contextbuild.Clean(system))), Params: s.encodeParams(params)}
	if s.err == nil {
		agent.Tools, s.err = DescribeTools(ctx, blobs, tools)
	}
	return agent, s.err
}

// DescribeTools stores the definitions of an agent's own tools, and returns their reference:
// the zero reference for none.
func DescribeTools(ctx context.Context, blobs Blobs, tools []Tool) (blob.Ref, error) {
	if len(tools) == 0 {
		return blob.Ref{}, nil
	}
	return PutJSON(ctx, blobs, definitions(tools))
}
