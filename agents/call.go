package agents

import (
	"context"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// CallInfo tells a tool which call it runs for.
type CallInfo struct {
	Session string
	Turn    int
	// Agent is the id of the agent whose model made the call.
	Agent string
	Round int
	// Call counts the tool calls of the agent's step from 0. Message names the tools that the
	// model's message calls, in their order, with this one.
	Call    int
	Message []string
	// Final reports whether the call is part of the turn's final answer: the winner's presentation,
	// or the answer of a panel of one.
	Final bool
	// Answers are the answers that the agent was shown, its own among them, in the order of the
	// config.
	Answers []ShownAnswer
}

// ShownAnswer is an answer in the form for an agent's tools.
type ShownAnswer struct {
	// Name is the author's name to models.
	Name string
	// Dir is the folder of the author's workspace at the time of the answer, for reading only;
	// empty if the author has no workspace.
	Dir string
}

type callInfoKey struct{}

// WithCallInfo returns a context in which tools find info.
func WithCallInfo(ctx context.Context, info CallInfo) context.Context {
	return context.WithValue(ctx, callInfoKey{}, info)
}

// CallInfoOf returns the CallInfo of a tool's call; it is zero outside of one.
func CallInfoOf(ctx context.Context) CallInfo {
	info, _ := ctx.Value(callInfoKey{}).(CallInfo)
	return info
}

type (
	panelValueKey struct{}
	turnValueKey  struct{}
)

// WithPanelValue returns a context in which tools find v as the value of their panel. A panel
// sets it from coordinator.Options.PanelValue; this function is for other loops, and for tests
// of tools.
func WithPanelValue(ctx context.Context, v any) context.Context {
	return context.WithValue(ctx, panelValueKey{}, v)
}

// PanelValue returns the value that all tool calls of a panel share, such as a connection to a
// database; ok is false if there is no such value, or it is not a T. The value must be safe for
// concurrent use.
func PanelValue[T any](ctx context.Context) (v T, ok bool) {
	v, ok = ctx.Value(panelValueKey{}).(T)
	return v, ok
}

// WithTurnValue returns a context for coordinator's Start and Resume, and for the calls of
// agents/conversation: the tools of that turn, and of no other, find v by TurnValue. No journal
// has it, so a caller that resumes a turn sets it again.
func WithTurnValue(ctx context.Context, v any) context.Context {
	return context.WithValue(ctx, turnValueKey{}, v)
}

// TurnValue returns the value that the tool calls of one turn share, such as the user who asks;
// ok is false if there is no such value, or it is not a T. The value must be safe for concurrent use.
func TurnValue[T any](ctx context.Context) (v T, ok bool) {
	v, ok = ctx.Value(turnValueKey{}).(T)
	return v, ok
}

// Progress is the progress of a tool call.
type Progress struct {
	// Fraction is the finished part of the call, from 0 to 1; 0 if unknown.
	Fraction float64
	// Text is the progress in the tool's own words. It may be empty.
	Text string
}

type progressKey struct{}

// WithProgress returns a context that passes the progress of a tool call to tell. tell may be
// called concurrently, and after the call is over.
func WithProgress(ctx context.Context, tell func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// ProgressOf returns the function to which a tool reports its progress. A tool may call it at
// any time, and concurrently. Outside of a watched call it does nothing.
func ProgressOf(ctx context.Context) func(Progress) {
	if tell, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		return tell
	}
	return func(Progress) {}
}

// callInfo returns the CallInfo for a call. The error is for a store that failed.
func (d *Doer) callInfo(ctx context.Context, turn *effect.Turn, e effect.ToolCall, message []backends.ToolCall) (CallInfo, error) {
	shared := d.of(turn)
	info := CallInfo{
		Session: turn.Session, Turn: turn.Turn, Agent: turn.Agent(e.Key.Agent).ID, Round: e.Key.Round, Call: e.Key.Index,
		Final: e.Key.Purpose == effect.FinalTool || e.Key.Purpose == effect.FinalSnapshot || len(turn.Agents) == 1,
	}
	for _, c := range message {
		info.Message = append(info.Message, c.Name)
	}
	for _, a := range e.Shown {
		work, err := ReadSnapshot(LookupIn(ctx, shared.cache), a.Work)
		if err != nil {
			return info, err
		}
		info.Answers = append(info.Answers, ShownAnswer{Name: shared.anonymous(a.Agent), Dir: work.Dir})
	}
	return info, nil
}
