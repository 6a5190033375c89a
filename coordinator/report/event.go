package report

import (
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
)

// Event is an event of a turn, for screens and logs. The set is closed. A Report returns the
// events that follow from a journal. The runner of effects adds TextDelta, Thinking,
// ToolCalled, ToolProgress, ToolsKept, Retrying, FellBack and Panicked; the code that ends the
// turn adds SessionUpdated and Ended. In JSON the fields are named as in the program's log.
type Event interface {
	// Head returns the event's header.
	Head() Header
	stamped(h Header) Event
}

// Header is common to all events. Stamp sets it.
type Header struct {
	At time.Time `json:"at"`
	// Kind names the event's type in logs and JSON.
	Kind string `json:"kind"`
	// Replayed reports whether the event happened before the turn was resumed. At is then the time
	// at which the journal was read.
	Replayed bool `json:"replayed,omitempty"`
	// Place counts the events that follow from the turn's journal alone, from 1: a later reader
	// of the journal finds the same events in the same places. It is 0 for all others.
	Place int `json:"-"`
}

// Head implements Event.
func (h Header) Head() Header { return h }

func (h Header) of(kind string) Header {
	h.Kind = kind
	return h
}

// Stamp returns an event with its header.
func Stamp(ev Event, at time.Time, replayed bool) Event {
	return ev.stamped(Header{At: at, Replayed: replayed, Place: ev.Head().Place})
}

// Actor is the header of an event about one agent, or about a sidecall.
type Actor struct {
	Header
	// Agent is the id in the config, or the purpose of a sidecall. Round counts from 1; at the
	// eager pace it counts the agent's starts.
	Agent string `json:"agent,omitempty"`
	Round int    `json:"round,omitempty"`
	// State is what the agent's step waits for after the event, or how it ended. Events of an
	// effect that runs have none.
	State step.State `json:"state,omitempty"`
}

// By returns the actor.
func (a Actor) By() Actor { return a }

// ActorOf returns the actor of an effect. The function id returns the id of an agent.
func ActorOf(key effect.Key, id func(agent int) string) Actor {
	if key.Agent == effect.NoAgent {
		return Actor{Agent: string(key.Purpose)}
	}
	return Actor{Agent: id(key.Agent), Round: key.Round}
}

// StepEnd is common to the events that end a step.
type StepEnd struct {
	Actor
	Elapsed time.Duration `json:"elapsed,omitempty"`
	Usage   budget.Usage  `json:"usage,omitzero"`
	// ToolCalls counts the calls of the agent's own tools, refused ones too.
	ToolCalls int `json:"tool_calls,omitempty"`
}

// End returns the part that is common to the events that end a step.
func (s StepEnd) End() StepEnd { return s }

// StepStarted begins a step of an agent.
type StepStarted struct {
	Actor
	Purpose effect.Purpose `json:"text"`
	// HasSchema reports whether the agent's text must pass a check before it is an answer.
	HasSchema bool `json:"has_schema,omitempty"`
	// Stage is the stage of the cascade to which the step belongs, of Stages; both are 0 without one.
	Stage  int `json:"stage,omitempty"`
	Stages int `json:"stages,omitempty"`
}

// TextDelta is a piece of a model's streamed text. The pieces of one call and act, in their order, are the text.
type TextDelta struct {
	Actor
	// Call is the id of the model call.
	Call string `json:"call,omitempty"`
	// Act is effect.NewAnswer for a piece of an answer, effect.Vote for a piece of a vote's reason, and empty for text
	// beside tools.
	Act  string `json:"act,omitempty"`
	Text string `json:"text,omitempty"`
}

// Thinking is a piece of a model's reasoning.
type Thinking struct {
	Actor
	Call string `json:"call,omitempty"` // as in TextDelta
	Text string `json:"text,omitempty"`
}

// ToolCalled is a model's request for a tool.
type ToolCalled struct {
	Actor
	Call string `json:"call,omitempty"` // as in TextDelta
	Tool string `json:"text"`
}

// CallStarted begins a model call of an agent. Seed 004 calls it a turn of the conversation.
type CallStarted struct {
	Actor
	Call string `json:"call"`
	// Number counts the calls of the step from 1. Tools names the tools that are sent.
	Number int      `json:"number"`
	Tools  []string `json:"tools"`
}

// CallEnded ends a model call of an agent, with what the call used.
type CallEnded struct {
	Actor
	Call string `json:"call"`
	// Number is as in CallStarted. Model is the model that replied, as in ResultAgent: the
	// agent's own, or a fallback.
	Number int          `json:"number"`
	Model  string       `json:"model"`
	Usage  budget.Usage `json:"usage,omitzero"`
	// Why is the kind of error with which the call failed, empty if it did not.
	Why string `json:"text,omitempty"`
}

// ToolStarted begins a call of a tool.
type ToolStarted struct {
	Actor
	// Call is the id of the tool's call.
	Call string   `json:"call"`
	Tool ToolCall `json:"tool"`
}

// ToolProgress is the progress of a tool. Each call has at most one such event a second.
type ToolProgress struct {
	Actor
	Call string `json:"call"` // as in ToolStarted
	Tool string `json:"tool"`
	Text string `json:"text,omitempty"`
	// Fraction is between 0 and 1, and 0 if unknown.
	Fraction float64 `json:"fraction,omitempty"`
}

// ToolEnded ends a call of a tool. A refused call has this event alone.
type ToolEnded struct {
	Actor
	Call    string        `json:"call"` // as in ToolStarted
	Tool    ToolCall      `json:"tool"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
}

// PermissionRequested reports that a person is asked whether a tool call may run. Its ToolStarted or ToolEnded follows.
type PermissionRequested struct {
	Actor
	Call string   `json:"call"` // as in ToolStarted
	Tool ToolCall `json:"tool"`
	// Why is the rule that leaves the call to a person.
	Why string `json:"text,omitempty"`
}

// Answered ends a step with an answer.
type Answered struct {
	StepEnd
	// Label names the answer. Void says why it was not used, empty if it was.
	Label string `json:"label,omitempty"`
	Void  string `json:"void,omitempty"`
	// Content is the answer.
	Content string `json:"content,omitempty"`
	// Snapshot is the copy of the agent's workspace, zero if there is none.
	Snapshot agents.Snapshot `json:"snapshot,omitzero"`
}

// Voted ends a step with a vote.
type Voted struct {
	StepEnd
	// Label names the answer that the vote is for. Void says why the vote does not count,
	// empty if it does.
	Label  string `json:"label,omitempty"`
	Reason string `json:"text,omitempty"`
	Void   string `json:"void,omitempty"`
}

// Abstained ends a step with neither an answer nor a vote. A panel of one abstains only if it
// requested tools to its last call.
type Abstained struct {
	StepEnd
	Reason string `json:"text,omitempty"`
	// Partial is the received part of the step's last message, if its call failed.
	Partial string `json:"partial,omitempty"`
}

// Failed ends a step with an error. Partial is as in Abstained.
type Failed struct {
	StepEnd
	Reason  string `json:"text,omitempty"`
	Partial string `json:"partial,omitempty"`
}

// Cancelled ends a step that was cancelled. Partial is as in Abstained.
type Cancelled struct {
	StepEnd
	Partial string `json:"partial,omitempty"`
}

// Presented ends the step of the final answer.
type Presented struct {
	StepEnd
	// Snapshot is as in Answered.
	Snapshot agents.Snapshot `json:"snapshot,omitzero"`
}

// Consulted ends a consultation (DESIGN §4 rule 17).
type Consulted struct {
	StepEnd
	Purpose effect.Purpose `json:"purpose"`
	// Label names the best answer, empty for a verdict and a review. Same reports a verdict that the answers say
	// the same, or a review that submits the answer.
	Label string `json:"label,omitempty"`
	Same  bool   `json:"same,omitempty"`
	// Why is why the consultation failed, empty if it did not.
	Why string `json:"text,omitempty"`
	// Analysis compares the answers, which it names by their labels; nil if the judge was asked for none.
	Analysis *contextbuild.Analysis `json:"analysis,omitempty"`
	// Review is what the winner thinks of its answer; nil for another purpose.
	Review *contextbuild.Review `json:"review,omitempty"`
}

// WentToJSON reports that an agent's model does not use tools and writes JSON objects from now on.
type WentToJSON struct {
	Actor
}

// ToolsChanged reports that an agent has other tools from its next model call on.
type ToolsChanged struct {
	Actor
	Tools ToolsChange `json:"tools"`
}

// ToolsKept reports that all agents keep their tools, because listing them again failed.
type ToolsKept struct {
	Header
	Why string `json:"text,omitempty"`
}

// Retrying reports that an attempt failed and that the call is made again after Wait.
type Retrying struct {
	Actor
	Why  string        `json:"text,omitempty"`
	Wait time.Duration `json:"elapsed,omitempty"`
}

// FellBack reports that an attempt failed and that the call goes to another model.
type FellBack struct {
	Actor
	Why string `json:"text,omitempty"`
	To  string `json:"label,omitempty"`
}

// HeldUp is a call that waits until other calls release budget.
type HeldUp struct {
	Actor
	Why string `json:"text,omitempty"`
}

// Panicked is a call that panicked.
type Panicked struct {
	Actor
	Stack string `json:"text,omitempty"`
}

// SessionUpdated has the totals of the session after the turn.
type SessionUpdated struct {
	Header
	Session SessionUpdate `json:"session"`
}

// ContextWarned reports that an agent's context window is nearly full.
type ContextWarned struct {
	Actor
	Context ContextWarning `json:"context"`
}

// SidecallStarted begins a sidecall, or the call for a summary of the omitted part of an
// agent's step: only the latter names an agent. Such calls may follow Ended.
type SidecallStarted struct {
	Actor
	Purpose effect.Purpose `json:"label"`
}

// SidecallEnded ends such a call.
type SidecallEnded struct {
	Actor
	Purpose effect.Purpose `json:"label"`
	Usage   budget.Usage   `json:"usage,omitzero"`
}

// SidecallFailed reports that such a call failed, or that its outcome could not be stored. Without
// a purpose, the store failed after the answer.
type SidecallFailed struct {
	Actor
	Purpose effect.Purpose `json:"label,omitempty"`
	Why     string         `json:"text,omitempty"`
	Usage   budget.Usage   `json:"usage,omitzero"`
}

// Noted is a person's addition to the question.
type Noted struct {
	Header
	Text string `json:"text,omitempty"`
}

// Paused reports that no call begins until Unpaused.
type Paused struct{ Header }

// Unpaused reports that a paused turn goes on.
type Unpaused struct{ Header }

// Awaited reports that the round goes on without these agents unless they act within a time.
type Awaited struct {
	Header
	Agents []string      `json:"agents"`
	Within time.Duration `json:"elapsed"`
}

// Dismissed reports that the turn goes on without an agent.
type Dismissed struct{ Actor }

// Ended reports that the turn has its result.
type Ended struct {
	Header
	Status  kernel.Status `json:"text"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
	Usage   budget.Usage  `json:"usage,omitzero"`
}

func (e StepStarted) stamped(h Header) Event  { e.Header = h.of("step_started"); return e }
func (e TextDelta) stamped(h Header) Event    { e.Header = h.of("text"); return e }
func (e Thinking) stamped(h Header) Event     { e.Header = h.of("reasoning"); return e }
func (e ToolCalled) stamped(h Header) Event   { e.Header = h.of("tool_call"); return e }
func (e CallStarted) stamped(h Header) Event  { e.Header = h.of("call_started"); return e }
func (e CallEnded) stamped(h Header) Event    { e.Header = h.of("call_ended"); return e }
func (e ToolStarted) stamped(h Header) Event  { e.Header = h.of("tool_started"); return e }
func (e ToolProgress) stamped(h Header) Event { e.Header = h.of("tool_progress"); return e }
func (e ToolEnded) stamped(h Header) Event    { e.Header = h.of("tool_ended"); return e }
func (e PermissionRequested) stamped(h Header) Event {
	e.Header = h.of("permission_requested")
	return e
}
func (e Awaited) stamped(h Header) Event         { e.Header = h.of("awaited"); return e }
func (e Answered) stamped(h Header) Event        { e.Header = h.of("answered"); return e }
func (e Voted) stamped(h Header) Event           { e.Header = h.of("voted"); return e }
func (e Abstained) stamped(h Header) Event       { e.Header = h.of("abstained"); return e }
func (e Failed) stamped(h Header) Event          { e.Header = h.of("failed"); return e }
func (e Cancelled) stamped(h Header) Event       { e.Header = h.of("cancelled"); return e }
func (e Presented) stamped(h Header) Event       { e.Header = h.of("presented"); return e }
func (c Consulted) stamped(h Header) Event       { c.Header = h.of("consulted"); return c }
func (e WentToJSON) stamped(h Header) Event      { e.Header = h.of("went_to_json"); return e }
func (e ToolsChanged) stamped(h Header) Event    { e.Header = h.of("tools_changed"); return e }
func (e ToolsKept) stamped(h Header) Event       { e.Header = h.of("tools_kept"); return e }
func (e Retrying) stamped(h Header) Event        { e.Header = h.of("retrying"); return e }
func (e FellBack) stamped(h Header) Event        { e.Header = h.of("fell_back"); return e }
func (e HeldUp) stamped(h Header) Event          { e.Header = h.of("held_up"); return e }
func (e Panicked) stamped(h Header) Event        { e.Header = h.of("panicked"); return e }
func (e SessionUpdated) stamped(h Header) Event  { e.Header = h.of("session_updated"); return e }
func (e ContextWarned) stamped(h Header) Event   { e.Header = h.of("context_warning"); return e }
func (e SidecallStarted) stamped(h Header) Event { e.Header = h.of("sidecall_started"); return e }
func (e SidecallEnded) stamped(h Header) Event   { e.Header = h.of("sidecall_ended"); return e }
func (e SidecallFailed) stamped(h Header) Event  { e.Header = h.of("sidecall_failed"); return e }
func (e Noted) stamped(h Header) Event           { e.Header = h.of("noted"); return e }
func (e Paused) stamped(h Header) Event          { e.Header = h.of("paused"); return e }
func (e Unpaused) stamped(h Header) Event        { e.Header = h.of("unpaused"); return e }
func (e Dismissed) stamped(h Header) Event       { e.Header = h.of("dismissed"); return e }
func (e Ended) stamped(h Header) Event           { e.Header = h.of("ended"); return e }
