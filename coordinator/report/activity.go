package report

import (
	"cmp"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// Activity is the part of a turn beside its answers and votes.
type Activity struct {
	// ToolCalls are the calls of the agents' own tools, in the order in which they began or
	// were refused, and those that providers ran, in the order in which they became known.
	ToolCalls []ResultToolCall `json:"tool_calls"`
	// Partials are the received parts of messages whose calls were cancelled, cut or timed out,
	// in the order in which the calls ended. None of them is an answer.
	Partials []PartialText `json:"partials"`
	// Notes are a person's additions to the question, in the order of their arrival.
	Notes []ResultNote `json:"notes"`
}

// ToolCall is a call of an agent's own tool, for people: it has only the beginning of long
// arguments and results. The inputs have all of them.
type ToolCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// State is the outcome of the call, ToolRunning while it is open.
	State effect.ToolState `json:"state"`
	// Result is empty for a call that has none yet. Error reports whether it is an error, or the
	// reason why the call did not run.
	Result string `json:"result"`
	Error  bool   `json:"error"`
}

// ToolRunning is the state of a call without a result; at the end of a turn only if its store
// failed, or the process was killed.
const ToolRunning effect.ToolState = "running"

// ResultToolCall is a tool call of a turn. Its duration is 0 if it did not run, or did not
// end.
type ResultToolCall struct {
	Agent string `json:"agent"`
	Round int    `json:"round"`
	ToolCall
	DurationMS int64 `json:"duration_ms"`
}

// mostTold is the most characters of arguments and results that are shown.
const mostTold = 1000

// Beginning cuts a text to the length in which arguments, results and progress are shown.
func Beginning(text string) string {
	count := 0
	for i := range text {
		if count == mostTold {
			return text[:i] + "…"
		}
		count++
	}
	return text
}

// PartialText is the received part of an agent's message whose call was cancelled, cut or timed
// out, or failed otherwise. It is never an answer, and no model sees it.
type PartialText struct {
	Agent   string         `json:"agent"`
	Round   int            `json:"round"`
	Purpose effect.Purpose `json:"purpose"`
	// Reason is the kind of the failure: cancelled, timeout, network and so on.
	Reason  string `json:"reason"`
	Content string `json:"content"`
}

// ResultNote is a person's addition to the question while the turn ran. SeenBy counts the
// agents one of whose calls had the note and came back with a message.
type ResultNote struct {
	Text   string `json:"text"`
	SeenBy int    `json:"seen_by"`
}

func (r *Report) activity() (Activity, error) {
	a := Activity{ToolCalls: []ResultToolCall{}, Partials: []PartialText{}, Notes: []ResultNote{}}
	for _, c := range r.machine.ToolCalls() {
		told, err := r.describeCall(c)
		if err != nil {
			return a, fmt.Errorf("read the tool call %s: %w", c.Call.Key, err)
		}
		a.ToolCalls = append(a.ToolCalls, ResultToolCall{r.id(c.Call.Key.Agent), c.Call.Key.Round, told, int64(max(0, c.Ended-c.Started))})
	}
	for _, p := range r.machine.Partials() {
		text, err := r.texts(p.Text)
		if err != nil {
			return a, fmt.Errorf("read what had come of %s: %w", p.Key, err)
		}
		a.Partials = append(a.Partials, PartialText{r.id(p.Key.Agent), p.Key.Round, p.Key.Purpose, p.Reason, string(text)})
	}
	for _, n := range r.machine.Notes() {
		text, err := r.texts(n.Text)
		if err != nil {
			return a, fmt.Errorf("read a note: %w", err)
		}
		a.Notes = append(a.Notes, ResultNote{string(text), n.SeenBy})
	}
	return a, nil
}

// describeCall returns a tool call for people, without its texts if there is an error.
func (r *Report) describeCall(c turn.ToolRun) (ToolCall, error) {
	told := ToolCall{Name: c.Call.Name, State: cmp.Or(c.State, ToolRunning), Error: c.Error}
	arguments, err := agents.Arguments(r.texts, c.Call)
	if err != nil {
		return told, err
	}
	result, err := agents.ReadResult(r.texts, c.Call, c.Result, c.State, c.Why)
	if err != nil {
		return told, err
	}
	told.Arguments, told.Result = Beginning(arguments), Beginning(result)
	return told, nil
}

// unseen returns warnings about notes that came too late for all agents.
func unseen(notes []turn.Note) []string {
	count := 0
	for _, n := range notes {
		if n.SeenBy == 0 {
			count++
		}
	}
	switch count {
	case 0:
		return nil
	case 1:
		return []string{"a note was seen by no agent: no call was made after it that came back"}
	}
	return []string{fmt.Sprintf("%d notes were seen by no agent: no call was made after them that came back", count)}
}
