package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/finish"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// exchange is one Think or Exec under way: the turn of a panel of one, with a store of its own
// for its texts. One goroutine owns it; effects run beside it.
type exchange struct {
	doer agents.Doer
	turn *effect.Turn
	// said is the conversation before the first call, which may be sent only a part of it. call
	// is the newest call, whose transcript has the later messages, and reply is its reply.
	said  Messages
	call  effect.ModelCall
	reply effect.ModelReply

	// turns counts the messages that the model wrote, content is the newest one's text.
	turns    int
	content  string
	usage    budget.Usage
	warnings []string
}

// begin prepares an exchange that continues a conversation, which was repaired with these
// warnings.
func (a Agent) begin(ctx context.Context, said Messages, warnings, tools []string) (*exchange, error) {
	if a.Backend == nil {
		return nil, errors.New("the agent has no backend")
	}
	chosen, err := a.choose(tools)
	if err != nil {
		return nil, err
	}
	blobs := sessions.NewMemory()
	ctx = context.WithoutCancel(ctx) // a cancelled call still returns the conversation
	self, err := agents.Describe(ctx, blobs, a.ID, a.SystemMessage, a.Model, a.Params, chosen)
	if err != nil {
		return nil, fmt.Errorf("describe the agent: %w", err)
	}
	shown, err := a.shown(said, chosen)
	if err != nil {
		return nil, err
	}
	self.Shown, self.Step = &shown.selection, &shown.step
	warnings = append(slices.Clip(warnings), shown.warnings...)
	x := &exchange{said: said, warnings: warnings, turn: &effect.Turn{Agents: []effect.Agent{self}, Limits: effect.DefaultLimits()}}
	member := agents.Member{Backend: a.Backend, Tools: chosen, Headers: a.Params.Headers}
	x.doer = agents.Doer{Blobs: blobs, Members: []agents.Member{member}}
	if x.turn.Conversation, err = agents.PutJSON(ctx, blobs, []backends.Message(shown.messages)); err != nil {
		return nil, fmt.Errorf("store the conversation: %w", err)
	}
	for _, m := range said {
		if m.Role == backends.RoleUser {
			x.turn.Turn++
		}
	}
	return x, nil
}

// next keeps the model call among effects as the newest one, and reports whether there is one.
// A step has no other effects beside a model call.
func (x *exchange) next(effects []effect.Effect) bool {
	call, ok := effects[0].(effect.ModelCall)
	if ok {
		x.call, x.reply = call, effect.ModelReply{}
	}
	return ok
}

// run runs effects at once, and returns their events in the order of the effects.
func (x *exchange) run(ctx context.Context, effects []effect.Effect) ([]effect.Reply, error) {
	events, errs := make([]effect.Reply, len(effects)), make([]error, len(effects))
	var group sync.WaitGroup
	for i, eff := range effects {
		group.Go(func() { events[i], errs[i] = x.doer.Perform(ctx, x.turn, eff) })
	}
	group.Wait()
	err := errors.Join(errs...)
	if reply, ok := events[0].(effect.ModelReply); ok && err == nil {
		err = x.hear(ctx, reply)
	}
	return events, err
}

// hear records the reply to the newest call.
func (x *exchange) hear(ctx context.Context, reply effect.ModelReply) error {
	x.reply = reply
	x.usage = x.usage.Plus(turn.UsageOf(reply))
	if reply.Failure != nil {
		return nil
	}
	x.turns++
	if reply.Truncated {
		x.warnings = append(x.warnings, fmt.Sprintf("message %d of the model was cut at its max_tokens: what it says may be incomplete", x.turns))
	} else if reply.Finish != "" {
		x.warnings = append(x.warnings, finish.Warning(fmt.Sprintf("message %d of the model", x.turns), reply.Finish, reply.Cut))
	}
	x.content = ""
	if reply.Text != (blob.Ref{}) {
		text, err := x.doer.Blobs.Get(context.WithoutCancel(ctx), reply.Text)
		if err != nil {
			return fmt.Errorf("read the reply: %w", err)
		}
		x.content = string(text)
	}
	return nil
}

// replied reports whether the newest call has a reply with a text or tool calls.
func (x *exchange) replied() bool {
	return x.reply.Text != (blob.Ref{}) || len(x.reply.Calls) > 0
}

// failure returns the reason why the newest call, which is over, has no such reply.
func (x *exchange) failure(ctx context.Context) error {
	f := x.reply.Failure
	switch {
	case f == nil:
		return errors.New(x.reply.BlankReason())
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", f.Message, context.Cause(ctx))
	}
	return &callError{*f}
}

// callError is a failure with its kind, for backends.KindOf. Its text is safe for terminals;
// a provider's own text may not be.
type callError struct{ failure effect.Failure }

func (e *callError) Error() string { return e.failure.Message }

func (e *callError) Unwrap() error {
	f := e.failure
	return &backends.Error{Kind: backends.Kind(f.Kind), Message: f.Message, NoTools: f.NoTools}
}

// leftOut adds a warning for the part of the step that the newest call, the longest, omitted.
func (x *exchange) leftOut() {
	limits := x.turn.Agents[0].Step
	if left := x.call.LeftOut(limits); left.Entries > 0 {
		x.warnings = append(x.warnings, leftOutOfStep(left.Messages, left.Results, *limits))
	}
}

// conversation returns the conversation so far, with the newest call's reply if it has one.
func (x *exchange) conversation(ctx context.Context) (Messages, error) {
	call := x.call
	if x.replied() {
		call.Transcript = append(call.Transcript, effect.Entry{Kind: effect.Assistant, Text: x.reply.Message})
	}
	added, err := agents.Transcript(context.WithoutCancel(ctx), x.doer.Blobs, x.turn, call)
	if err != nil {
		return x.said, err
	}
	return x.said.with(added...), nil
}
