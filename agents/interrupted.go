package agents

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/effect"
)

// Idempotent is a Tool that can report that calling it twice has the same effect as calling it
// once. A call of it that was under way when its process ended is made again.
type Idempotent interface{ Idempotent() bool }

// IsIdempotent reports whether a tool is known to be idempotent.
func IsIdempotent(tool Tool) bool {
	t, ok := tool.(Idempotent)
	return ok && t.Idempotent()
}

// OnFiles reports whether a tool call touches the agent's own files, and whether it may change them. Calls
// that do must run in the order in which the model made them.
func (d *Doer) OnFiles(call effect.ToolCall) (touches, changes bool) {
	if call.Key.Purpose != effect.Tool && call.Key.Purpose != effect.FinalTool {
		return false, false
	}
	tool, touches := d.member(call.Key.Agent).tool(call.Name).(interface{ ChangesFiles() bool })
	return touches, touches && tool.ChangesFiles()
}

// MayRepeat reports whether a tool call that may have been made may be made again. Calls with a
// purpose of the program may, and planned calls. The error is for a store that failed.
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

// Interrupted returns the result of a tool call that was under way when its process ended and
// that is not made again. The error is for a store that failed.
func (d *Doer) Interrupted(ctx context.Context, call effect.ToolCall) (effect.ToolReply, error) {
	ref, err := d.Blobs.Put(ctx, []byte(fmt.Sprintf(
		"unknown: interrupted: the program ended while this call of %s was under way. It was not made again, since that may do twice what it does. Find out what has become of it before you repeat it.",
		call.Name)))
	return effect.ToolReply{Index: call.Key.Index, Result: ref, Error: true, State: effect.ToolInterrupted}, err
}
