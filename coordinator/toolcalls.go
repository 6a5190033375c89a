package coordinator

import (
	"fmt"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// ToolCall is a call of an agent's own tool, as people are told of it: of long
// arguments and results only the beginning. The inputs have all of it.
type ToolCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Result is empty for a call that has none yet. Error says that it is about what
	// went wrong.
	Result string `json:"result"`
	Error  bool   `json:"error"`
}

// ResultToolCall is a tool call of a turn. Its duration is 0 if it did not end.
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

// toolCall reads a tool call for people; result is zero while there is none.
func (e *engine) toolCall(call machine.ToolCall, result kernel.Ref, failed bool) (ToolCall, error) {
	read, err := agents.ReadToolCall(e.base, e.panel.opts.Store, call, result)
	if err != nil {
		return ToolCall{}, fmt.Errorf("read a tool call of turn %s: %w", e.turn.ID(), err)
	}
	return ToolCall{Name: call.Name, Arguments: beginning(read.Arguments), Result: beginning(read.Result), Error: failed}, nil
}

// toolCalls are all of the turn, in the order in which they were asked for.
func (e *engine) toolCalls() ([]ResultToolCall, error) {
	list := []ResultToolCall{}
	for _, c := range e.machine.ToolCalls() {
		told, err := e.toolCall(c.Call, c.Result, c.Error)
		if err != nil {
			return nil, err
		}
		list = append(list, ResultToolCall{
			Agent: e.id(c.Call.Key.Agent), Round: c.Call.Key.Round, ToolCall: told, DurationMS: int64(max(0, c.Ended-c.Started)),
		})
	}
	return list, nil
}

// tellStart tells of an agent's effect that begins.
func (e *engine) tellStart(effect machine.Effect) {
	switch c := effect.(type) {
	case machine.ToolCall:
		if c.IsSnapshot() { // it is told with the answer
			return
		}
		e.tellTool(Event{Kind: ToolStarted}, c, kernel.Ref{}, false)
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

// tellToolEnd tells of a tool's result.
func (e *engine) tellToolEnd(c turn.ToolCall) {
	elapsed := time.Duration(c.Ended-c.Started) * time.Millisecond
	e.tellTool(Event{Kind: ToolEnded, Elapsed: elapsed}, c.Call, c.Result, c.Error)
}

// tellTool tells of a tool. What cannot be read is told without its texts: the loop
// finds out itself that the store does not work.
func (e *engine) tellTool(ev Event, call machine.ToolCall, result kernel.Ref, failed bool) {
	told, err := e.toolCall(call, result, failed)
	if err != nil {
		told = ToolCall{Name: call.Name, Error: failed}
	}
	ev.Agent, ev.Round, ev.Text, ev.Tool = e.id(call.Key.Agent), call.Key.Round, call.Name, &told
	e.turn.events.add(ev)
}
