package agents

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/internal/machine"
)

// Idempotent is a Tool that may say of itself that calling it twice does no more than
// calling it once. A call of it that was under way when its process ended is made again.
type Idempotent interface{ Idempotent() bool }

// IsIdempotent says whether a tool is known to be idempotent.
func IsIdempotent(tool Tool) bool {
	t, ok := tool.(Idempotent)
	return ok && t.Idempotent()
}

// MayRepeat says whether a tool call may be made again of which it is not known whether
// it was made. Those of a purpose of the program's own may, and those that are only
// planned. The error is that of a store that does not work.
func (d *Doer) MayRepeat(ctx context.Context, call machine.ToolCall) (bool, error) {
	if call.Key.Purpose != machine.Tool && call.Key.Purpose != machine.FinalTool {
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

// Interrupted is the result of a tool call that was under way when its process ended and
// that is not made again. The error is that of a store that does not work.
func (d *Doer) Interrupted(ctx context.Context, call machine.ToolCall) (machine.ToolReply, error) {
	ref, err := d.Blobs.Put(ctx, []byte(fmt.Sprintf(
		"unknown: interrupted: the program ended while this call of %s was under way. It was not made again, since that may do twice what it does. Find out what has become of it before you repeat it.",
		call.Name)))
	return machine.ToolReply{Index: call.Key.Index, Result: ref, Error: true, State: machine.ToolInterrupted}, err
}
