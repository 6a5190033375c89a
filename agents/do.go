package agents

import (
	"context"
	"errors"
	"fmt"
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
	// error. If a result is too long, the model gets its beginning and its end.
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
	// that replaces its result. If Plan is nil, no call is planned.
	Plan func(tool Tool, arguments string) (result string, planned bool)
	// Permit decides whether a tool call may run, and names the rule, for the journal and for
	// people. If it is nil, every call may run.
	Permit func(tool, arguments string) (permission effect.Permission, why string)
	// KeepResult stores a tool's whole result, which is cut for the model, in a place that the
	// agent can read, and returns the place. It may be nil.
	KeepResult func(name, result string) (where string, err error)
	// Snapshot copies the agent's present workspace, for an answer; nil for an agent without a
	// workspace.
	Snapshot func(ctx context.Context, of CallInfo) (Snapshot, error)
	// Takes selects the files of a tool's result that the model accepts.
	Takes attach.Takes
}

// Doer runs the effects of one turn. It is safe for concurrent use.
type Doer struct {
	// Blobs may be a Cache, which then serves several turns.
	Blobs Blobs
	// Members stand in the config's order. While effects are under way, only SetTools changes
	// them.
	Members []Member
	// Sidecalls make the calls that belong to no agent, by purpose.
	Sidecalls map[effect.Purpose]Sidecall
	// RunCheck runs the command of a check; it may be nil if no answer is checked by a command.
	RunCheck RunCheck
	// Observe gets what people see of an agent's model call while it runs. It may be nil.
	Observe func(effect.Key, Told)
	// Panicked gets the key and the stack of an effect that panicked. It may be nil.
	Panicked func(key effect.Key, stack []byte)

	mu sync.RWMutex // guards Members, Sidecalls and shared
	// shared is nil before the turn's first effect.
	shared *shared
}

// of returns what the effects of the turn share.
func (d *Doer) of(turn *effect.Turn) *shared {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shared == nil {
		d.shared = newShared(turn, d.Blobs)
	}
	return d.shared
}

// ShareWith lets the effects of d use what the effects of another Doer of the same turn have read,
// as if they were its own. It comes before d's first effect.
func (d *Doer) ShareWith(other *Doer, turn *effect.Turn) { d.shared = other.of(turn) }

// SetTools gives an agent other tools for the effects that begin from now on; effects under way
// keep theirs.
func (d *Doer) SetTools(agent int, tools []Tool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Members[agent].Tools = tools
}

// SetSidecall replaces the sidecall of a purpose, for the effects that begin from now on.
func (d *Doer) SetSidecall(purpose effect.Purpose, s Sidecall) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Sidecalls[purpose] = s
}

func (d *Doer) sidecall(purpose effect.Purpose) (s Sidecall, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s, ok = d.Sidecalls[purpose]
	return s, ok
}

func (d *Doer) member(agent int) Member {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.Members[agent]
}

// do runs an effect to its one result.
func (d *Doer) do(ctx context.Context, turn *effect.Turn, eff effect.Effect, r *running) (effect.Reply, error) {
	switch e := eff.(type) {
	case effect.ModelCall:
		return d.callModel(ctx, turn, e, &r.heard)
	case effect.ToolCall:
		if e.IsSnapshot() {
			return d.takeSnapshot(ctx, turn, e)
		}
		if e.IsCheck() {
			return d.checkAnswer(ctx, turn, e)
		}
		return d.callTool(ctx, turn, e, r)
	}
	return nil, fmt.Errorf("unknown effect %T", eff)
}

// UnsentError is the failure of an effect before anything of it was sent or run.
type UnsentError struct{ Err error }

// Error implements error.
func (e UnsentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e UnsentError) Unwrap() error { return e.Err }

func (d *Doer) callModel(ctx context.Context, turn *effect.Turn, call effect.ModelCall, h *heard) (effect.ModelReply, error) {
	stored := context.WithoutCancel(ctx)
	req, sent, err := d.input(stored, turn, call)
	if err != nil {
		return effect.ModelReply{}, UnsentError{err}
	}
	to, ok := d.callee(call)
	if !ok {
		return effect.ModelReply{Usage: &effect.Usage{CostUSD: new(float64)}, Failure: &effect.Failure{
			Kind: "missing", Message: fmt.Sprintf("no model is set for the purpose %s any more", call.Key.Purpose),
		}}, nil
	}
	people := d.tellerOf(turn, call, req.Tools)
	resp, reply, err := d.send(ctx, to.Member, req, h, people)
	reply.Sent = sent
	if err != nil || reply.Failure != nil {
		return reply, err
	}
	// The reply has arrived and was paid for. It is kept even if the call was cancelled meanwhile.
	if err := d.read(stored, turn, call, to.Member, resp, &reply); err != nil {
		return reply, err
	}
	d.endTelling(stored, people, reply)
	if call.Sidecall == nil {
		return reply, nil
	}
	if reply.Change, err = to.Read(stored, turn, *call.Sidecall, resp.Message); err != nil {
		reply.Change = effect.Change{}
		reply.Failure = &effect.Failure{Kind: "reply", Message: failure(ctx, err).Message}
	}
	return reply, nil
}

// input builds the input of a call, and records it.
func (d *Doer) input(ctx context.Context, turn *effect.Turn, call effect.ModelCall) (backends.Request, *effect.Sent, error) {
	b := newInputBuilder(ctx, d.of(turn), turn, call)
	req, err := b.build(call)
	if err != nil {
		return req, nil, err
	}
	sent, err := b.record(req)
	if err != nil {
		return req, nil, err
	}
	req.Messages, err = b.loaded(req.Messages)
	return req, sent, err
}

// callee returns the agent or the sidecall that serves a call. ok is false if there is no such sidecall.
func (d *Doer) callee(call effect.ModelCall) (to Sidecall, ok bool) {
	purpose := call.Key.Purpose
	if purpose.IsStepSummary() {
		purpose = effect.Summarizing
	}
	if call.Sidecall == nil && purpose != effect.Summarizing {
		return Sidecall{Member: d.member(call.Key.Agent)}, true
	}
	return d.sidecall(purpose)
}

// send makes a call, and returns a reply with its cost and, if it failed, the reason and the received part
// of the message. The error is for a store that failed. people may be nil.
func (d *Doer) send(ctx context.Context, to Member, req backends.Request, h *heard, people *teller) (resp backends.Response, reply effect.ModelReply, err error) {
	observe, again := h.add, h.again
	if people != nil {
		again = func() {
			h.again()
			people.again()
		}
		observe = func(ev backends.Event) {
			h.add(ev)
			people.hear(ev)
		}
	}
	req.Params.Headers, req.Params.ExtraBody = to.Headers, to.ExtraBody
	resp, failed := backends.Collect(to.Backend.Stream(noting(ctx, &reply.Fallback, again), req), observe)
	reply.Usage = usage(resp.Usage, failed)
	if failed != nil {
		reply.Failure = failure(ctx, failed)
		reply.Partial, err = d.keepPartial(ctx, h, failed)
	}
	return resp, reply, err
}

// noting returns a context whose trace also records in *in which model answered the call, if it was another one
// than the agent's. It calls again before each further attempt.
func noting(ctx context.Context, in **effect.Fallback, again func()) context.Context {
	trace := *backends.TraceFrom(ctx)
	retry, outer := trace.Retry, trace.Fallback
	trace.Retry = func(info backends.RetryInfo) {
		again()
		if retry != nil {
			retry(info)
		}
	}
	trace.Fallback = func(info backends.FallbackInfo) {
		again()
		from := info.From
		if *in != nil {
			from = (*in).From + ", " + from
		}
		*in = &effect.Fallback{From: from, To: info.To, Reason: contextbuild.Clean(info.Err.Error())}
		if outer != nil {
			outer(info)
		}
	}
	return backends.WithTrace(ctx, &trace)
}

// Read returns the result of Perform for a call to which the model replies with message.
func (d *Doer) Read(ctx context.Context, turn *effect.Turn, call effect.ModelCall, message backends.Message) (reply effect.ModelReply, err error) {
	err = d.read(context.WithoutCancel(ctx), turn, call, d.member(call.Key.Agent), backends.Response{Message: message}, &reply)
	return reply, err
}

// read reads a call's response into its reply.
func (d *Doer) read(ctx context.Context, turn *effect.Turn, call effect.ModelCall, to Member, resp backends.Response, reply *effect.ModelReply) error {
	reader := newReplyReader(ctx, d.of(turn), turn, call)
	reader.permit = to.Permit
	return reader.read(resp, reply)
}

// failure returns the failure of a call that ended with err. It cleans the text, which may be a
// provider's: terminals show it, and the journal must read back the same.
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

// Describe stores what an agent's calls share, and returns its description.
func Describe(ctx context.Context, blobs Blobs, id, system, model string, params backends.Params, tools []Tool) (effect.Agent, error) {
	s := newTextStore(ctx, blobs)
	agent := effect.Agent{ID: id, Model: model, System: s.put([]byte(contextbuild.Clean(system))), Params: s.encodeParams(params)}
	if s.err == nil {
		agent.Tools, s.err = DescribeTools(ctx, blobs, tools)
	}
	return agent, s.err
}

// DescribeTools stores the definitions of an agent's own tools, and returns their reference. It is
// zero for an agent without tools.
func DescribeTools(ctx context.Context, blobs Blobs, tools []Tool) (blob.Ref, error) {
	if len(tools) == 0 {
		return blob.Ref{}, nil
	}
	definitions := make([]backends.Tool, len(tools))
	for i, t := range tools {
		definitions[i] = t.Definition()
	}
	return PutJSON(ctx, blobs, definitions)
}
