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

// Status is the way in which Exec ended.
type Status string

// The statuses of seed 001.
const (
	// Done: the model's last message called no tool.
	Done Status = "done"
	// MaxTurns: the model still called tools in its last message. Exec can continue from here.
	MaxTurns Status = "max_turns"
	// Failed: a call failed, or ctx was cancelled. Exec can continue from here, too.
	Failed Status = "error"
)

// Result is the result of a tool loop.
type Result struct {
	Status Status `json:"status"`
	// Turns counts the messages that the model wrote.
	Turns int `json:"turns"`
	// Content is the text of the last of them, cleaned of control characters.
	Content string `json:"content"`
	// Conversation is the whole conversation, for every status. Every tool call in it has
	// its result.
	Conversation Messages     `json:"conversation"`
	Usage        budget.Usage `json:"usage"`
	// Warnings describe the repairs of the conversation (Messages.Repaired), the part of it that
	// was not sent, and the messages that were cut.
	Warnings []string `json:"warnings,omitempty"`
	// Error is the reason for the status Failed.
	Error string `json:"error,omitempty"`
}

// Exec is the tool loop of seed 001. It extends the conversation as Think does, runs
// the tools that the model calls, those of one message at once, and sends their
// results. It ends when a message calls no tool, or when the model wrote maxTurns messages.
// maxTurns is at least 1. The last of these calls offers no tools, and tells the model that
// it is the last. If a tool fails, panics or does not exist, the model gets a result
// that says so. If the conversation ends with open calls, and the request has neither
// a prompt nor tool results, Exec first runs the tools of these calls.
//
// Exec always returns the whole conversation. A request with that conversation and no prompt
// continues after MaxTurns, a failure or a cancel. Exec returns an error exactly when the
// status is Failed. If a call failed, the error has a *backends.Error in its chain. A request
// that cannot be sent leaves the conversation unchanged. Exec waits for a tool that ignores
// its cancellation no longer than agents.AbandonAfter.
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
	// Open calls are the reply to an earlier call.
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

// loop runs a step to its end. open is the assistant's message with which the step begins,
// if there is one.
func (x *exchange) loop(ctx context.Context, open Messages, maxTurns int) (Status, error) {
	most := maxTurns + len(open)
	s, effects := step.Begin(step.Task{
		Purpose: effect.Conversation,
		Limits:  effect.Limits{MaxTurns: most, MaxAttempts: most + 1, FinalMessage: true}, // turns are the limit
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

// take gives a step a message as the reply to its first call.
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
