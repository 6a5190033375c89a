package effect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/coordination/draw"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

// Turn is the description that every input of a turn is built from, by reference. The accepted
// turn is journaled with it, so that an input can be rebuilt to the byte.
type Turn struct {
	Session string `json:"session"`
	Turn    int    `json:"turn"`
	// Question is a text. History is the newest sessions.Link of the turns before
	// this one, zero if there are none.
	Question blob.Ref `json:"question"`
	History  blob.Ref `json:"history"`
	// Conversation is the JSON of a list of backends.Message that calls with the purpose
	// Conversation continue. Then there is no history, and a question only if one follows.
	Conversation blob.Ref `json:"conversation,omitzero"`
	// Sections is the JSON of a list of texts, which stand in every agent's system message as
	// its further sections; zero if there are none.
	Sections blob.Ref `json:"sections,omitzero"`
	// Files were attached to the question.
	Files []blob.File `json:"files,omitempty"`
	// Description is a text that stands for the files that an agent's model cannot take;
	// zero if there is none.
	Description blob.Ref `json:"description,omitzero"`
	// Schema is the JSON Schema that the turn's answers have to fit; zero if any text is one.
	Schema blob.Ref `json:"schema,omitzero"`
	// Value says how the value of an answer is read; nil where equal texts are equal answers.
	Value *Value `json:"value,omitempty"`
	// Rule is set to a rule under which votes may name several agents; empty for any other.
	Rule election.Rule `json:"rule,omitempty"`
	// Shuffle orders the answers that agents are shown; nil leaves them in the config's order.
	Shuffle *Shuffle `json:"shuffle,omitempty"`
	// Check is made of each answer; nil for none.
	Check *Check `json:"check,omitempty"`
	// Agents are the members of the panel in the config's order.
	Agents []Agent `json:"agents"`
	// Judge and Verdict are consulted and are no members of the panel; nil for none. Their
	// indices are those that follow the members'.
	Judge   *Agent `json:"judge,omitempty"`
	Verdict *Agent `json:"verdict,omitempty"`
	Limits  Limits `json:"limits"`
	// Summary replaces the older turns, for the agents whose Shown has one; nil if there is
	// none.
	Summary *Summary `json:"summary,omitempty"`
	// Sidecalls are the calls that come before round 1.
	Sidecalls []Sidecall `json:"asides,omitempty"`
	// StepSummarizer writes the summaries of steps' omitted messages, for the agents whose Step
	// has SummaryWords; nil if no agent needs it.
	StepSummarizer *StepSummarizer `json:"step_summarizer,omitempty"`
}

// Agent is the description that an agent's calls share.
type Agent struct {
	ID     string   `json:"id"`
	System blob.Ref `json:"system"`
	// Guidance stands after the coordination text of the agent's steps; zero for none.
	Guidance blob.Ref `json:"guidance,omitzero"`
	Model    string   `json:"model"`
	// Params is the JSON of backends.Params, Tools that of a list of backends.Tool, the agent's
	// own tools.
	Params   blob.Ref `json:"params"`
	Tools    blob.Ref `json:"tools"`
	ToolMode ToolMode `json:"tool_mode,omitempty"`
	// Shown is the selection of the history for the agent; nil means all of it.
	Shown *policy.Selection `json:"shown,omitempty"`
	// Step limits the part of a step's additions that the agent's inputs have; nil means all.
	Step *policy.StepLimits `json:"step,omitempty"`
	// Carry lets the agent's inputs have its own tool calls of earlier rounds and turns; nil means none.
	Carry *Carry `json:"carry,omitempty"`
	// Workspace reports whether each answer of the agent gets a snapshot of its files.
	Workspace bool `json:"workspace,omitempty"`
	// Bounded reports whether a small model runs on a server that enforces the schema of a reply: in
	// JSON mode its replies, and the texts in the schema, have a limit.
	Bounded bool `json:"bounded,omitempty"`
	// TextCalls reports whether calls in the agent's text count as its calls, and whether names of tools may have
	// marks: its service may not know the model's own markup.
	TextCalls bool `json:"text_calls,omitempty"`
	// Files replace the turn's files for this agent, unless Files is nil and Described is false.
	// Described reports whether the turn's description stands for the omitted files.
	Files     []blob.File `json:"files,omitempty"`
	Described bool        `json:"described,omitempty"`
}

// Value says how the value of an answer is read: the last match of Pattern, its first group. Without
// a pattern the answer is a JSON value.
type Value struct {
	Pattern string `json:"pattern,omitempty"`
}

// Shuffle shows answers in an order that is drawn for each agent and round.
type Shuffle struct {
	Seed uint64 `json:"seed"`
}

// Check is a check of answers: by a command, which gets the answer on standard input and fails with a
// status other than 0, or by a pattern that has to match.
type Check struct {
	Command []string `json:"command,omitempty"`
	Pattern string   `json:"pattern,omitempty"`
	// Tries is how many answers of a step are checked. One that fails the last check is accepted as
	// failed.
	Tries int `json:"tries"`
	// Shown adds the outcome to the answer in inputs.
	Shown bool `json:"shown,omitempty"`
}

// InOrder returns the answers of an offer in the order in which an agent is shown them in a round.
func (t *Turn) InOrder(agent, round int, offer kernel.Offer) []kernel.Answer {
	if t.Shuffle == nil && !offer.Reversed {
		return offer.Shown
	}
	shown := slices.Clone(offer.Shown)
	if t.Shuffle != nil {
		for i, from := range draw.Order(len(shown), t.Shuffle.Seed, uint64(t.Turn), uint64(agent), uint64(round)) {
			shown[i] = offer.Shown[from]
		}
	}
	if offer.Reversed {
		slices.Reverse(shown)
	}
	return shown
}

// Size counts the indices of agents, with those of the consultants outside of the panel.
func (t *Turn) Size() int {
	switch n := len(t.Agents); {
	case t.Verdict != nil:
		return n + 2
	case t.Judge != nil:
		return n + 1
	default:
		return n
	}
}

// Agent returns an agent of the panel, or a consultant outside of it, which may be nil.
func (t *Turn) Agent(i int) *Agent {
	switch n := len(t.Agents); i {
	case n:
		return t.Judge
	case n + 1:
		return t.Verdict
	}
	return &t.Agents[i]
}

// IsAlone reports whether the panel is one agent, whose text is the answer (rule 1).
func (t *Turn) IsAlone() bool { return len(t.Agents) == 1 }

// FilesOf returns the files that an agent receives with the question. A text among them
// describes the omitted files.
func (t *Turn) FilesOf(agent int) []blob.File {
	a := t.Agent(agent)
	if !a.Described && a.Files == nil {
		return t.Files
	}
	files := slices.Clone(a.Files)
	if a.Described && t.Description != (blob.Ref{}) {
		var names []string
		for _, f := range t.Files {
			if !slices.ContainsFunc(a.Files, func(own blob.File) bool { return own.Name == f.Name }) {
				names = append(names, f.Name)
			}
		}
		files = append(files, blob.File{Name: "description of " + strings.Join(names, ", "), MediaType: "text/plain", Content: t.Description})
	}
	return files
}

// ToolMode is the way in which a model gets the coordination tools.
type ToolMode string

// The modes. ToolsNative, which the zero value means too, offers tools. ToolsJSON requests one
// JSON object, for models that cannot call tools. ToolsAuto begins with tools and changes to
// JSON when the service refuses them or the model has ignored them twice.
const (
	ToolsNative ToolMode = "native"
	ToolsJSON   ToolMode = "json"
	ToolsAuto   ToolMode = "auto"
)

// Limits bound a step.
type Limits struct {
	// MaxTurns is the most model calls of a step; the last of them offers only the coordination
	// tools (seed 001).
	MaxTurns int `json:"max_turns"`
	// MaxAttempts is the most attempts of a step (rule 7).
	MaxAttempts int `json:"max_attempts"`
	// MaxToolCalls is the most calls of the agent's own tools in a step, denied ones too; after
	// them only the coordination tools are offered (seed 004). 0: no limit.
	MaxToolCalls int `json:"max_tool_calls,omitempty"`
	// EndAtLimits ends a step that still requests tools when MaxTurns or MaxToolCalls is used
	// up (OutOfTurns). New turns have it. Without it, as in older journals, each such message
	// is an attempt, and a step may have MaxTurns + MaxAttempts model calls.
	EndAtLimits bool `json:"end_at_limits,omitempty"`
	// FinalMessage tells a model in a message of its own that a call is its last (FinalTurn). New
	// turns have it. Without it, as in older journals, the sentence stands at the end of the last
	// entry, and a step whose first call is its last does not have it.
	FinalMessage bool `json:"final_message,omitempty"`
	// ToolLimit is the longest time of a tool call in milliseconds, ResultLimit the most bytes
	// of its result that the model gets; 0: no limit.
	ToolLimit   int `json:"tool_limit,omitempty"`
	ResultLimit int `json:"result_limit,omitempty"`
	// MaxOverlap refuses an answer that shares more than this many thousandths of its words
	// with one that its author was shown; 0: no limit.
	MaxOverlap int `json:"max_overlap"`
}

// Beyond returns the name of a limit that is wider than the other's, or "".
func (l Limits) Beyond(other Limits) string {
	for _, of := range []struct {
		name      string
		own, most int
	}{
		{"max_turns", l.MaxTurns, other.MaxTurns}, {"max_attempts", l.MaxAttempts, other.MaxAttempts},
		{"max_tool_calls", l.MaxToolCalls, other.MaxToolCalls}, {"tool_timeout_seconds", l.ToolLimit, other.ToolLimit},
		{"max_tool_result_bytes", l.ResultLimit, other.ResultLimit},
	} {
		if of.most != 0 && (of.own == 0 || of.own > of.most) {
			return of.name
		}
	}
	return ""
}

// DefaultLimits are ten turns of tools (seeds 001 and 004), three attempts (DESIGN
// §4.7), and 50 tool calls, each of two minutes and 50,000 bytes.
func DefaultLimits() Limits {
	return Limits{MaxTurns: 10, MaxAttempts: 3, MaxToolCalls: 50, ToolLimit: 120_000, ResultLimit: 50_000}
}

// Key names an effect within its session and turn.
type Key struct {
	Agent   int     `json:"agent"`
	Round   int     `json:"round"`
	Purpose Purpose `json:"purpose"`
	Index   int     `json:"index"`
}

func (k Key) String() string {
	return fmt.Sprintf("agent=%d round=%d %s.%d", k.Agent, k.Round, k.Purpose, k.Index)
}

// CallID returns the id of a call in its turn, such as ada.2.coordination.0. The function id returns the id of an
// agent.
func (k Key) CallID(id func(agent int) string) string {
	agent := ""
	if k.Agent != NoAgent {
		agent = id(k.Agent)
	}
	return agent + "." + strconv.Itoa(k.Round) + "." + string(k.Purpose) + "." + strconv.Itoa(k.Index)
}

// Purpose is the purpose of an effect.
type Purpose string

// The purposes. Conversation is the call of a panel of one, without coordination. The effect of
// a tool is Tool, and Snapshot copies the workspace of an answer's author. For the final answer
// they are FinalTool and FinalSnapshot, since the same agent may have run tools, and answered,
// earlier in the same round.
const (
	Coordination Purpose = "coordination"
	Conversation Purpose = "conversation"
	Presentation Purpose = "presentation"
	Synthesis    Purpose = "synthesis"
	Tool         Purpose = "tool"
	FinalTool    Purpose = "final_tool"
	// HostedTool is no effect: it stands in the key of a call that the provider has run.
	HostedTool Purpose = "hosted_tool"

	Snapshot      Purpose = "snapshot"
	FinalSnapshot Purpose = "final_snapshot"

	// Checking checks an answer, FinalChecking a final one.
	Checking      Purpose = "check"
	FinalChecking Purpose = "final_check"
)

// IsFinalAnswer reports whether a step is the winner's call of rule 9.
func (p Purpose) IsFinalAnswer() bool { return p == Presentation || p == Synthesis }

// The purposes of consultations (rule 17).
const (
	Judgement = Purpose(kernel.Judgement)
	Analysis  = Purpose(kernel.Analysis)
	TieBreak  = Purpose(kernel.TieBreak)
	Verdict   = Purpose(kernel.Verdict)
	Review    = Purpose(kernel.Review)
)

// IsConsultation reports whether a step gives an opinion about the answers, and no answer.
func (p Purpose) IsConsultation() bool {
	return p == Judgement || p == Analysis || p == TieBreak || p == Verdict || p == Review
}

// IsAnswer reports whether a step writes the turn's answer: a step of rule 9, or the step of a
// panel of one.
func (p Purpose) IsAnswer() bool { return p.IsFinalAnswer() || p == Conversation }

// IsSnapshot reports whether an effect copies a workspace.
func (p Purpose) IsSnapshot() bool { return p == Snapshot || p == FinalSnapshot }

// IsCheck reports whether an effect checks an answer.
func (p Purpose) IsCheck() bool { return p == Checking || p == FinalChecking }

// Effect is one of the two ways to touch the world: ModelCall and ToolCall.
type Effect interface{ EffectKey() Key }

// ModelCall requests one message of the agent's model. Its input is built only from the turn,
// the offer and the transcript.
type ModelCall struct {
	Key Key `json:"key"`
	// Sidecall is the input of a sidecall; the fields below are zero then.
	Sidecall *Sidecall `json:"aside,omitempty"`
	// Offer is the offer at the step's start, from which the first messages are built; a newer
	// one stands in the transcript.
	Offer kernel.Offer `json:"offer"`
	// Votes are the votes in a presentation's input (rule 9).
	Votes []kernel.Vote `json:"votes,omitempty"`
	// Notes are the notes at the step's start, oldest first; later ones stand in the transcript
	// (rule 11).
	Notes      []blob.Ref `json:"notes,omitempty"`
	Transcript []Entry    `json:"transcript,omitempty"`
	// Carried are the agent's tool calls of earlier rounds and turns, with their results (Agent.Carry).
	Carried []Entry `json:"carried,omitempty"`
	// Summary replaces omitted entries, nil for none. A call for a summary has the previous
	// summary there, and in Transcript only the entries that the new one covers.
	Summary *StepSummary `json:"summary,omitempty"`
	// Analysis is the analysis from which a judge synthesizes the answer; zero for any other call.
	Analysis blob.Ref `json:"analysis,omitzero"`
	// OwnTools offers the agent's own tools beside the coordination tools.
	OwnTools bool `json:"own_tools"`
	// Tools is the list of those tools if they have changed since the turn was accepted: the
	// reference of Agent.Tools, zero for none. It is nil while they have not changed.
	Tools *blob.Ref `json:"tools,omitempty"`
	// JSON requests the act as a JSON object, and offers no tools.
	JSON bool `json:"json,omitempty"`
}

// ToolsOf returns the list of an agent's own tools with which a call is sent and its reply is
// read, whatever the present tools are.
func (t *Turn) ToolsOf(call ModelCall) blob.Ref {
	if call.Tools != nil {
		return *call.Tools
	}
	return t.Agent(call.Key.Agent).Tools
}

// Current returns the offer of the call's input: the offer of its last update, or of the step's
// start.
func (c ModelCall) Current() kernel.Offer {
	for _, e := range slices.Backward(c.Transcript) {
		if e.Update != nil {
			return *e.Update
		}
	}
	return c.Offer
}

// NotesTold counts the notes in the call's input. They are the turn's first ones.
func (c ModelCall) NotesTold() int {
	n := len(c.Notes)
	for _, e := range c.Transcript {
		n += len(e.Notes)
	}
	return n
}

// ToolCall requests the result of call number Call of an assistant message. A snapshot and a check
// are ToolCalls that no message requested. A snapshot has a Key and nothing else. A check has the
// Answer, and the Work of its snapshot.
type ToolCall struct {
	Key     Key      `json:"key"`
	Message blob.Ref `json:"message"`
	Call    int      `json:"call"`
	Name    string   `json:"name"`
	// Shown are the answers in the input of the message.
	Shown []kernel.Answer `json:"shown,omitempty"`
	// Asked reports whether a person has allowed it.
	Asked  bool     `json:"asked,omitempty"`
	Answer blob.Ref `json:"answer,omitzero"`
	Work   blob.Ref `json:"work,omitzero"`
}

// IsSnapshot reports whether the call copies a workspace, and calls none of the agent's tools.
func (c ToolCall) IsSnapshot() bool { return c.Key.Purpose.IsSnapshot() }

// IsCheck reports whether the call checks an answer, and calls none of the agent's tools.
func (c ToolCall) IsCheck() bool { return c.Key.Purpose.IsCheck() }

// EffectKey returns the key under which the call is journaled.
func (c ModelCall) EffectKey() Key { return c.Key }

// EffectKey returns the key under which the call is journaled.
func (c ToolCall) EffectKey() Key { return c.Key }

// Entry is one addition of a step to its first input: an assistant message, a tool's result, a
// reminder, or the message that this is the last turn.
type Entry struct {
	Kind EntryKind `json:"kind"`
	// Text is the assistant's message (JSON of a backends.Message) or the result's
	// text.
	Text blob.Ref `json:"text"`
	// CallID and Name identify the call that a result answers. Error marks a failed one.
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name,omitempty"`
	Error  bool   `json:"error,omitempty"`
	// Files are the pictures that the tool returned beside the text.
	Files []blob.File `json:"files,omitempty"`
	// ElapsedMS is how many milliseconds the tool of this result ran. Models do not see it.
	ElapsedMS int64 `json:"took,omitempty"`
	// Notice is a result that the machine itself gives.
	Notice *Notice `json:"notice,omitempty"`
	// Update is a newer set of answers, at the end of this result (rule 8).
	Update *kernel.Offer `json:"update,omitempty"`
	// Notes stand at the end of this result or reminder (rule 11).
	Notes []blob.Ref `json:"notes,omitempty"`
	// Final adds the sentence that this is the last turn, in journals without Limits.FinalMessage.
	Final bool `json:"final,omitempty"`
	// JSON reports whether the act was requested as a JSON object. Then a result stands in a user
	// message, since there is no call for it.
	JSON bool `json:"json,omitempty"`
	// MayAnswer and MayVote say which acts a reminder may name.
	MayAnswer bool `json:"may_answer,omitempty"`
	MayVote   bool `json:"may_vote,omitempty"`
}

// EntryKind is the kind of an Entry.
type EntryKind string

// The kinds of an Entry.
const (
	Assistant EntryKind = "assistant"
	Result    EntryKind = "result"
	Reminder  EntryKind = "reminder"
	FinalTurn EntryKind = "final_turn"
)

// Notice is a tool error for the model, with a cure.
type Notice struct {
	Code Code `json:"code"`
	// Agent is the agent that the notice is about, if any.
	Agent int `json:"agent,omitempty"`
	// Votable reports whether a vote for Agent would be accepted.
	Votable bool `json:"votable,omitempty"`
	// Detail describes the fault, if the code does not.
	Detail string `json:"detail,omitempty"`
	// Output is the end of a failed check's output.
	Output blob.Ref `json:"output,omitzero"`
}

// Code is the subject of a Notice.
type Code string

// The reasons why a model's call is refused.
const (
	BadArguments    Code = "bad_arguments"
	BadAnswer       Code = "bad_answer"
	EmptyAnswer     Code = "empty_answer"
	AnswerWithdrawn Code = "answer_not_offered"
	Duplicate       Code = "duplicate"
	TooSimilar      Code = "too_similar"
	UnknownAgent    Code = "unknown_agent"
	NoAnswersYet    Code = "no_answers_yet"
	NoAnswerOf      Code = "no_answer_of"
	NoSelfVote      Code = "no_self_vote"
	SeveralActs     Code = "several_acts"
	ToolsWithdrawn  Code = "tools_not_offered"
	TooManyCalls    Code = "too_many_tool_calls"
	NotPermitted    Code = "not_permitted"
	NothingToVote   Code = "nothing_to_vote"
	CallInText      Code = "call_in_text"
	// FailedCheck is an answer that its check refuses. Notice.Output has the end of the check's output.
	FailedCheck Code = "failed_check"
	// BadOpinion is a reply to a consultation that does not fit.
	BadOpinion Code = "bad_opinion"
	// CutOff is an act of a message that its provider cut.
	CutOff Code = "cut_off"
)
