package coordinator

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild/policy"
	"github.com/massgen/massgen/coordinator/turn"
)

// Event tells of something that happened in a turn, for screens and logs. No
// machine reads it and no journal has it.
type Event struct {
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	// Agent is the config id, Round the round (eager: the agent's number of starts). For
	// Retrying, FellBack and Panicked of a call that belongs to no agent it is the purpose.
	Agent string `json:"agent,omitempty"`
	Round int    `json:"round,omitempty"`
	// Text is a piece of text, a tool's name, or why something is so.
	Text string `json:"text,omitempty"`
	// Label names the answer that was given or voted for; of some kinds it is something
	// else, as they say.
	Label string `json:"label,omitempty"`
	// Void says why a vote or an answer does not count.
	Void    string        `json:"void,omitempty"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
	Usage   turn.Usage    `json:"usage,omitzero"`
	// Replayed says that it happened before the turn was resumed; At is when it was
	// read from the journal.
	Replayed bool `json:"replayed,omitempty"`
	// Session is there with SessionUpdated, Context with ContextWarned, whose Agent
	// is the one whose model the warning is about.
	Session *SessionUpdate  `json:"session,omitempty"`
	Context *ContextWarning `json:"context,omitempty"`
	// Tool is there with ToolStarted, ToolProgress and ToolEnded, Call with CallStarted.
	// ToolCalls is how many a step that has ended has made, and Fraction, from 0 to 1, how
	// much of a tool's call is done, 0 if that is not known.
	Tool      *ToolCall  `json:"tool,omitempty"`
	Fraction  float64    `json:"fraction,omitempty"`
	Call      *ModelCall `json:"call,omitempty"`
	ToolCalls int        `json:"tool_calls,omitempty"`
	// Tools is there with ToolsChanged.
	Tools *ToolsChange `json:"tools,omitempty"`
	// Partial is there with Cancelled, Failed and Abstained if the step ended with a call
	// that failed, and text of its message had come: all of that.
	Partial string `json:"partial,omitempty"`
	// Snapshot is there with Answered and Presented if the agent's work was kept.
	Snapshot *agents.Snapshot `json:"snapshot,omitempty"`
}

// ModelCall is a model call of a step, which seed 004 calls a turn of the conversation.
type ModelCall struct {
	// Number counts the calls of the step from 1, Tools are the names of those that are
	// sent.
	Number int      `json:"number"`
	Tools  []string `json:"tools"`
}

// SessionUpdate is what a session has come to with a turn (seed 000).
type SessionUpdate struct {
	SessionID string `json:"session_id"`
	// MessageCount counts all messages of the conversation, UsageTotal the calls of all
	// turns.
	MessageCount int        `json:"message_count"`
	UsageTotal   turn.Usage `json:"usage_total"`
}

// ContextWarning says that a conversation nears the end of what a model can read,
// or is there (seed 000).
type ContextWarning struct {
	SessionID    string `json:"session_id"`
	MessageCount int    `json:"message_count"`
	// EstimatedTokens is what the agent's next input has, the history and all that goes
	// with it.
	EstimatedTokens int            `json:"estimated_tokens"`
	Warning         policy.Warning `json:"warning"`
	// Estimated says that no tokenizer of the model counted them, and Window is how many
	// the model can read, 0 if that is not known.
	Estimated bool `json:"estimated,omitempty"`
	Window    int  `json:"context_window,omitempty"`
	// Round is that of a step that has come so far: then MessageCount counts the messages
	// of the step, and EstimatedTokens is what is sent next. It is 0 for a turn that begins.
	Round int `json:"round,omitempty"`
	// LeftOut says that earlier messages of the step are left out of that.
	LeftOut bool `json:"left_out,omitempty"`
}

// EventKind tells the events of a turn apart.
type EventKind string

// The kinds of an Event.
const (
	StepStarted EventKind = "step_started"
	TextDelta   EventKind = "text"
	Thinking    EventKind = "reasoning"
	ToolCalled  EventKind = "tool_call"
	// CallStarted tells of each model call of an agent, ToolStarted and ToolEnded of a
	// tool that runs, ToolEnded alone of a call that was refused, ToolCalled that a model
	// asks for one.
	CallStarted EventKind = "call_started"
	ToolStarted EventKind = "tool_started"
	ToolEnded   EventKind = "tool_ended"
	// ToolProgress tells how far a tool is, whose words are the Text: of each call at once
	// and then at most once in a second.
	ToolProgress EventKind = "tool_progress"
	Answered     EventKind = "answered"
	Voted        EventKind = "voted"
	Abstained    EventKind = "abstained"
	Failed       EventKind = "failed"
	Cancelled    EventKind = "cancelled"
	Presented    EventKind = "presented"
	WentToJSON   EventKind = "went_to_json"
	// ToolsChanged tells that an agent has other tools from its next model call on,
	// ToolsKept that those of all agents stay as they are, since they could not be listed
	// anew, and in its Text why.
	ToolsChanged EventKind = "tools_changed"
	ToolsKept    EventKind = "tools_kept"
	// Retrying and FellBack tell that an attempt has failed, and why: the call is
	// made again, after the time in Elapsed, or goes to the model in Label.
	Retrying EventKind = "retrying"
	FellBack EventKind = "fell_back"
	// HeldUp tells of a call that waits for the budget, and in its Text why.
	HeldUp EventKind = "held_up"
	// Panicked has the stack of a call that panicked as its Text.
	Panicked EventKind = "panicked"
	// SessionUpdated tells of the session after a turn, ContextWarned that an agent's
	// context window is nearly full.
	SessionUpdated EventKind = "session_updated"
	ContextWarned  EventKind = "context_warning"
	// AsideStarted, AsideEnded and AsideFailed tell of a call that belongs to no agent,
	// whose purpose is the Label; it failed for the reason in Text. They may follow Ended.
	// Without a Label it is the store that failed there.
	AsideStarted EventKind = "aside_started"
	AsideEnded   EventKind = "aside_ended"
	AsideFailed  EventKind = "aside_failed"
	// Noted has the Text that a person has added to the question.
	Noted EventKind = "noted"
	// Paused and Unpaused tell of a pause: in it no call begins.
	Paused   EventKind = "paused"
	Unpaused EventKind = "unpaused"
	Ended    EventKind = "ended"
)

// eventLog keeps a turn's events for whoever comes, early or late.
type eventLog struct {
	mu      sync.Mutex
	events  []Event
	closed  bool
	changed chan struct{} // closed, and replaced, when there is more
	// replaying marks what is added as Replayed.
	replaying bool
}

// add takes one event; after close it is dropped, which befalls only what an
// abandoned call still says.
func (l *eventLog) add(ev Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	ev.At, ev.Replayed = time.Now(), l.replaying
	l.events = append(l.events, ev)
	l.broadcast()
}

// replay says whether what is added from now on comes from a journal.
func (l *eventLog) replay(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaying = on
}

func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.broadcast()
}

func (l *eventLog) broadcast() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// after returns the events from position i on, whether there will be more, and
// what is closed when there are.
func (l *eventLog) after(i int) ([]Event, bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[i:len(l.events):len(l.events)], !l.closed, l.changed
}

func (l *eventLog) all(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := 0; ; {
			events, more, changed := l.after(i)
			for _, ev := range events {
				if !yield(ev) {
					return
				}
			}
			i += len(events)
			if len(events) > 0 {
				continue
			}
			if !more {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}
