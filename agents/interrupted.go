package agents

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/effect"
)

// Idempotent is a Tool that reports whether two equal calls have the same effect as one. If they
// have, a call that was under way when its process ended is made again.
type Idempotent interface{ Idempotent() bool }

// IsIdempotent reports whether a tool is known to be idempotent.
func IsIdempotent(tool Tool) bool {
	t, ok := tool.(Idempotent)
	return ok && t.Idempotent()
}

// OnFiles reports whether a tool call touches the agent's own files, and whether it may change them. A call
// that may change them must run after the model's earlier calls on them, and before its later ones.
func (d *Doer) OnFiles(call effect.ToolCall) (touches, changes bool) {
	if call.Key.Purpose != effect.Tool && call.Key.Purpose != effect.FinalTool {
		return false, false
	}
	tool, ok := d.member(call.Key.Agent).tool(call.Name).(interface {
		OnFiles() (touches, changes bool)
	})
	if !ok {
		return false, false
	}
	return tool.OnFiles()
}

// MayRepeat reports whether a tool call may be made again if it was perhaps made before: a planned
// call may, and a call with a purpose of the program. The error is for a store that failed.
func (d *Doer) MayRepeat(ctx context.Context, call effect.ToolCall) (bool, error) {
	if call.Key.Purpose != effect.Tool && call.Key.Purpose != effect.FinalTool {
		return true, nil
	}
	member := d.member(call.Key.Agent)
	if tool := member.tool(call.Name); tool != nil && IsIdempotent(tool) {
		return true, nil
	}
	arguments, err := Arguments(LookupIn(ctx, d.Blobs), call)
	if err != nil {
		return false, err
	}
	_, planned := member.planned(call, arguments)
	return planned, nil
}

// Interrupted returns the result of a tool call that was under way when its process ended, and
// that may not be repeated. The error is for a store that failed.
func (d *Doer) Interrupted(ctx context.Context, call effect.ToolCall) (effect.ToolReply, error) {
	ref, err := d.Blobs.Put(ctx, []byte(fmt.Sprintf(
		"unknown: interrupted: the program ended while this call of %s was under way. It was not made again, since that may do twice what it does. Find out what has become of it before you repeat it.",
		call.Name)))
	return effect.ToolReply{Index: call.Key.Index, Result: ref, Error: true, State: effect.ToolInterrupted}, err
}
