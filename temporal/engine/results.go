package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// mostReply is the most bytes of an effect's result, without its texts: the server accepts at
// most 2 MB at once, and the transcripts of calls contain the result again.
const mostReply = 256 << 10

// told returns an effect's result. An effect that was cut off has none: it is repeated. isBounded says
// that the result must not be large.
func told(ctx context.Context, ev effect.Reply, isBounded bool) (result, error) {
	if isCutOff(ctx, ev) {
		err := fmt.Errorf("the effect was cut off: %w", context.Cause(ctx))
		if errors.Is(err, errEnds) {
			err = temporal.NewApplicationErrorWithCause(err.Error(), endedKind, err)
		}
		return result{}, err
	}
	switch ev := ev.(type) {
	case effect.ModelReply:
		if isBounded {
			return result{Model: bounded(ev)}, nil
		}
		return result{Model: &ev}, nil
	case effect.ToolReply:
		return result{Tool: &ev}, nil
	}
	return result{}, fmt.Errorf("an effect ended with %T", ev)
}

// isCut reports whether a context has ended without a cancellation.
func isCut(ctx context.Context) bool {
	var cancelled *temporal.CanceledError
	return ctx.Err() != nil && !errors.As(context.Cause(ctx), &cancelled)
}

// isCutOff reports whether an effect was cut before it had a result. It is repeated.
func isCutOff(ctx context.Context, ev effect.Reply) bool {
	if !isCut(ctx) {
		return false
	}
	switch ev := ev.(type) {
	case effect.ModelReply:
		return ev.Failure != nil && ev.Failure.Kind == string(backends.KindCancelled)
	case effect.ToolReply:
		return ev.State == effect.ToolCancelled
	}
	return false
}

// bounded returns a reply that Temporal accepts in a turn that is not by texts. Only a message with
// thousands of tool calls is larger.
func bounded(reply effect.ModelReply) *effect.ModelReply {
	if data, err := json.Marshal(reply); err == nil && len(data) > mostReply {
		message := fmt.Sprintf("a message with %d tool calls, which is more than can be carried", len(reply.Calls))
		reply = effect.ModelReply{Usage: reply.Usage, Failure: &effect.Failure{Kind: string(backends.KindBadRequest), Message: message}}
	}
	return &reply
}

// unsent marks the error of an effect that was not begun.
func unsent(err error) error {
	if err == nil {
		return nil
	}
	return temporal.NewApplicationErrorWithCause(err.Error(), unsentKind, err)
}

// interrupted returns the result of a tool call that was begun and cut off, or whose worker is
// lost, with its agent's tools and files.
func interrupted(ctx context.Context, store *turnStore, w work) (result, error) {
	key := w.Effect.Tool.Key
	text, advice := "this call was cut off, and what it has done is not known", "."
	if w.Lost {
		text, advice = fmt.Sprintf("the worker on which the tools and files of %s were is lost", w.Turn.Agent(key.Agent).ID), ". Go on without them."
		if w.Try > 0 {
			text += ", and what this call has done is not known"
		}
	}
	if !w.Effect.Tool.IsSnapshot() { // no model gets a snapshot's result
		text = "Error: " + text + advice
	}
	ref, err := store.Put(ctx, []byte(text))
	if err == nil {
		err = store.flush(ctx)
	}
	return result{Tool: &effect.ToolReply{Index: key.Index, Result: ref, Error: true, State: effect.ToolInterrupted}}, err
}
