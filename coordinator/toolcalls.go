package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/turn"
)

// ToolCall is a call of an agent's own tool, as people are told of it: of long
// arguments and results only the beginning. The inputs have all of it.
type ToolCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// State is what became of it, ToolRunning while that is open.
	State machine.ToolState `json:"state"`
	// Result is empty for a call that has none yet. Error says that it is about what
	// went wrong, or why the call was not run.
	Result string `json:"result"`
	Error  bool   `json:"error"`
}

// ToolRunning is the state of a call that has no result; at the end of a turn only if its
// store failed, or the process was killed.
const ToolRunning machine.ToolState = "running"

// ResultToolCall is a tool call of a turn. Its duration is 0 if it did not run, or did not
// end.
type ResultToolCall struct {
	Agent string `json:"agent"`
	Round int    `json:"round"`
	ToolCall
	DurationMS int64 `json:"duration_ms"`
}

// mostTold is how many characters of arguments and results are told.
const mostTold = 1000

func beginning(text string) string {
	count := 0
	for i := range text {
		if count == mostTold {
			return text[:i] + "…"
		}
		count++
	}
	return text
}

// describeCall reads a tool call for people.
func describeCall(ctx context.Context, blobs agents.Blobs, c turn.ToolCall) (ToolCall, error) {
	told := ToolCall{Name: c.Call.Name, State: cmp.Or(c.State, ToolRunning), Error: c.Error}
	arguments, err := agents.Arguments(ctx, blobs, c.Call)
	if err != nil {
		return told, err
	}
	result, err := agents.ReadResult(ctx, blobs, c.Result, c.State, c.Why)
	told.Arguments, told.Result = beginning(arguments), beginning(result)
	return told, err
}

// describeCalls reads the tool calls of a turn, whose agents have these ids.
func describeCalls(ctx context.Context, blobs agents.Blobs, ids []string, calls []turn.ToolCall) ([]ResultToolCall, error) {
	list := []ResultToolCall{}
	for _, c := range calls {
		told, err := describeCall(ctx, blobs, c)
		if err != nil {
			return nil, fmt.Errorf("read the tool call %s: %w", c.Call.Key, err)
		}
		list = append(list, ResultToolCall{
			Agent: ids[c.Call.Key.Agent], Round: c.Call.Key.Round, ToolCall: told, DurationMS: int64(max(0, c.Ended-c.Started)),
		})
	}
	return list, nil
}

// toolCalls are all of the turn, in the order in which they began or were refused.
func (e *engine) toolCalls() ([]ResultToolCall, error) {
	list, err := describeCalls(e.base, e.panel.opts.Store, e.panel.opts.Rules.Agents, e.machine.ToolCalls())
	if err != nil {
		return nil, fmt.Errorf("turn %s: %w", e.turn.ID(), err)
	}
	return list, nil
}

// KeptToolCalls returns the tool calls of a turn from its journal, as its Result has them,
// whatever became of the turn. A turn of a branch has no journal, and so none. The error
// says that the store does not work, or that the journal is damaged or of another version.
func KeptToolCalls(ctx context.Context, store Store, session string, number int) ([]ResultToolCall, error) {
	list, err := keptToolCalls(ctx, store, session, number)
	if err != nil {
		return nil, fmt.Errorf("read the tool calls of turn %d of session %s: %w", number, session, err)
	}
	return list, nil
}

func keptToolCalls(ctx context.Context, store Store, session string, number int) ([]ResultToolCall, error) {
	events, err := readJournal(ctx, store, session, number)
	if err != nil || !slices.ContainsFunc(events, callsTools) {
		return []ResultToolCall{}, err
	}
	m, err := played(events)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range m.Turn().Agents {
		ids = append(ids, a.ID)
	}
	return describeCalls(ctx, store, ids, m.ToolCalls())
}

// callsTools says that an event is a message with calls of tools that are none of the
// coordination: most turns have none, and need not be played again.
func callsTools(ev turn.Event) bool {
	done, ok := ev.(turn.ModelDone)
	return ok && slices.ContainsFunc(done.Reply.Calls, func(c machine.Call) bool {
		return done.Key.Purpose != machine.Coordination || c.Name != machine.NewAnswer && c.Name != machine.Vote
	})
}

// tellStart tells of an agent's effect that begins.
func (e *engine) tellStart(effect machine.Effect) {
	switch c := effect.(type) {
	case machine.ToolCall:
		if c.IsSnapshot() { // it is told with the answer
			return
		}
		e.tellTool(Event{Kind: ToolStarted}, turn.ToolCall{Call: c})
	case machine.ModelCall:
		if c.Aside == nil {
			e.turn.events.add(Event{
				Kind: CallStarted, Agent: e.id(c.Key.Agent), Round: c.Key.Round,
				Call: &ModelCall{Number: c.Key.Index + 1, Tools: e.toolNames(c)},
			})
		}
	}
}

// toolNames are the tools that a call is sent.
func (e *engine) toolNames(c machine.ModelCall) []string {
	names := []string{}
	if c.Key.Purpose == machine.Coordination && !c.JSON {
		if c.Offer.MayAnswer {
			names = append(names, machine.NewAnswer)
		}
		names = append(names, machine.Vote)
	}
	if c.OwnTools {
		for _, t := range e.doer.Members[c.Key.Agent].Tools {
			names = append(names, t.Definition().Name)
		}
	}
	return names
}

// tellToolEnd tells of a tool's result, or of a call that was refused.
func (e *engine) tellToolEnd(c turn.ToolCall) {
	e.tellTool(Event{Kind: ToolEnded, Elapsed: time.Duration(c.Ended-c.Started) * time.Millisecond}, c)
}

// tellTool tells of a tool. What cannot be read is told without its texts: the loop
// finds out itself that the store does not work.
func (e *engine) tellTool(ev Event, c turn.ToolCall) {
	told, err := describeCall(e.base, e.panel.opts.Store, c)
	if err != nil {
		told.Arguments, told.Result = "", ""
	}
	ev.Agent, ev.Round, ev.Text, ev.Tool = e.id(c.Call.Key.Agent), c.Call.Key.Round, c.Call.Name, &told
	e.turn.events.add(ev)
}
