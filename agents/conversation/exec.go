package conversation

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/step"
)

// Status says how Exec ended.
type Status string

// The statuses of seed 001.
const (
	// Done: the model's last message called no tool.
	Done Status = "done"
	// MaxTurns: the model called tools to the last. Exec goes on from here.
	MaxTurns Status = "max_turns"
	// Failed: a call failed, or ctx was cancelled. Exec goes on from here, too.
	Failed Status = "error"
)

// Result is what came of a tool loop.
type Result struct {
	Status Status `json:"status"`
	// Turns is how many messages the model wrote.
	Turns int `json:"turns"`
	// Content is the text of the last of them, cleaned of control characters.
	Content string `json:"content"`
	// Conversation is what was said until the end, whatever the status. Every tool
	// call in it has its result.
	Conversation Messages     `json:"conversation"`
	Usage        budget.Usage `json:"usage"`
	// Warnings say what was repaired in the conversation (Messages.Repaired), what of it
	// was not sent, and which messages were cut.
	Warnings []string `json:"warnings,omitempty"`
	// Error says why the status is Failed.
	Error string `json:"error,omitempty"`
}

// Exec is the tool loop of seed 001. It extends the conversation as Think does, runs
// the tools that the model calls, those of one message at once, and sends their
// results, until a message calls none, or the model wrote maxTurns messages, which
// are at least 1. For the last of them no tools are offered, and the model is told that
// it is the last. A tool that fails, panics or is not there gives the model a result
// that says so. If the conversation ends with open calls, and the request has neither
// a prompt nor tool results, the tools of these are run first.
//
// The conversation always comes back, with all that was said, and can be handed in
// again with no prompt, to go on after MaxTurns, a failure or a cancel. There is an
// error exactly when the status is Failed; that of a failed call has a *backends.Error
// in its chain. A request that cannot be sent leaves the conversation as it was. A
// tool that ignores its cancellation is waited for no longer than
// agents.AbandonAfter.
func (a Agent) Exec(ctx context.Context, req Request, maxTurns int) (Result, error) {
	result := Result{Status: Failed, Conversation: req.Conversation}
	err := a.exec(agents.WithPanelValue(ctx, a.PanelValue), req, maxTurns, &result)
	if err != nil {
		result.Status, result.Error = Failed, err.Error()
	}
	return result, err
}

func (a Agent) exec(ctx context.Context, req Request, maxTurns int, result *Result) error {
	if maxTurns < 1 {
		return fmt.Errorf("max_turns is %d: it is at least 1", maxTurns)
	}
	messages, warnings, err := req.messages()
	if err != nil {
		return err
	}
	// Open calls are the reply to a call that was made before.
	given := len(messages)
	if len(messages.open()) > 0 {
		given--
	}
	x, err := a.begin(ctx, messages[:given], warnings, req.Tools)
	if err != nil {
		return err
	}
	status, loopErr := x.loop(ctx, messages[given:], maxTurns)
	x.leftOut()
	said, err := x.conversation(ctx)
	*result = Result{
		Status: status, Turns: x.turns, Content: x.content, Conversation: backends.Repair(said),
		Usage: x.usage, Warnings: x.warnings,
	}
	if loopErr != nil {
		return loopErr
	}
	return err
}

// loop runs a step to its end. open is the message of the assistant that the step
// begins with, if there is one.
func (x *exchange) loop(ctx context.Context, open Messages, maxTurns int) (Status, error) {
	most := maxTurns + len(open)
	s, effects := step.Begin(step.Task{
		Purpose: effect.Conversation,
		Limits:  effect.Limits{MaxTurns: most, MaxAttempts: most + 1}, // it is turns that are limited
	})
	if len(open) > 0 {
		var err error
		if effects, err = x.take(ctx, s, effects, open[0]); err != nil {
			return Failed, err
		}
	}
	for s.Outcome().Kind == "" {
		isModelCall := x.next(effects)
		switch {
		case isModelCall && x.call.Key.Index == most:
			return MaxTurns, nil
		case ctx.Err() != nil:
			return Failed, fmt.Errorf("stopped: %w", context.Cause(ctx))
		}
		events, err := x.run(ctx, effects)
		if err != nil {
			return Failed, err
		}
		if effects, err = apply(s, events); err != nil {
			return Failed, err
		}
	}
	if s.Outcome().Kind != step.Answered {
		return Failed, x.failure(ctx)
	}
	return Done, nil
}

// take gives a step the message that its first call is replied to with.
func (x *exchange) take(ctx context.Context, s *step.Machine, first []effect.Effect, message backends.Message) ([]effect.Effect, error) {
	x.next(first)
	var err error
	if x.reply, err = x.doer.Read(ctx, x.turn, x.call, message); err != nil {
		return nil, fmt.Errorf("read the open calls: %w", err)
	}
	return s.Apply(x.reply)
}

// apply gives a step the events of its effects and returns the effects to run now.
func apply(s *step.Machine, events []effect.Reply) ([]effect.Effect, error) {
	var effects []effect.Effect
	for _, ev := range events {
		more, err := s.Apply(ev)
		if err != nil {
			return nil, err
		}
		effects = append(effects, more...)
	}
	return effects, nil
}
