package machine

import (
	"github.com/massgen/massgen/internal/kernel"

	"github.com/massgen/massgen/internal/blob"
)

// Event is something that happened to a step. The set is closed: ModelReply,
// ToolReply, Approval, Restrict, Update, Note, Cancel.
type Event interface{ event() }

// ModelReply is the result of a ModelCall.
type ModelReply struct {
	// Message is the assistant's message as it came.
	Message blob.Ref `json:"message"`
	// Text is the message's text, Hash its normalised hash; zero if it is blank.
	Text blob.Ref `json:"text"`
	Hash string   `json:"hash,omitempty"`
	// Calls are the message's tool calls in order, their arguments decoded.
	Calls []Call `json:"calls,omitempty"`
	// Hosted are the calls of hosted tools in the message, in order: the provider has run them.
	Hosted []Hosted `json:"hosted,omitempty"`
	// Citations is the JSON of a list of backends.Citation: the sources of the answer that the
	// message has, zero for none.
	Citations blob.Ref `json:"citations,omitzero"`
	Usage     *Usage   `json:"usage,omitempty"`
	// Fallback is set if another model than the agent's own was called.
	Fallback *Fallback `json:"fallback,omitempty"`
	// Truncated says that the message ended at the most tokens it might have.
	Truncated bool `json:"truncated,omitempty"`
	// Change is what the reply to a sidecall changes.
	Change Change `json:"change,omitzero"`
	// Failure is why there is no message.
	Failure *Failure `json:"failure,omitempty"`
	// Partial is the text that had come of a message that failed, zero if none had. It
	// is for people: no rule reads it, and it is never an answer.
	Partial blob.Ref `json:"partial,omitzero"`
	// Sent is what the call was sent, nil where nobody noted it.
	Sent *Sent `json:"sent,omitempty"`
}

// Hosted is a call that the provider has run. Its arguments and its result stand in the message.
type Hosted struct {
	Name  string `json:"name"`
	Error bool   `json:"error,omitempty"`
}

// Usage is what a call cost; nil where a Usage is missing means unknown.
type Usage struct {
	InputTokens       int `json:"input_tokens"`
	OutputTokens      int `json:"output_tokens"`
	CachedInputTokens int `json:"cached_input_tokens"`
	// CostUSD is nil where the price is unknown.
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// Fallback says which models could not be used before the call went to To, each
// named with its provider, and why the last of them could not.
type Fallback struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Failure is an error of an effect, for people.
type Failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// NoTools says that the service takes no tools for this model.
	NoTools bool `json:"no_tools,omitempty"`
	// Unsent says that no request was sent.
	Unsent bool `json:"unsent,omitempty"`
	// Abandoned says that the effect ignored its cancellation.
	Abandoned bool `json:"abandoned,omitempty"`
}

// Call is one tool call of a message, decoded as far as the rules need it.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Own says that the name is one of the agent's own tools, Permission whether the
	// call may run, and Why by which rule that is so.
	Own        bool       `json:"own,omitempty"`
	Permission Permission `json:"permission,omitempty"`
	Why        string     `json:"why,omitempty"`
	// Problem says what is wrong with a coordination tool's arguments.
	Problem string `json:"problem,omitempty"`
	// Answer, Hash and Overlaps belong to new_answer: the text, its normalised
	// hash, and how many thousandths of it stand in each answer shown.
	Answer   blob.Ref `json:"answer,omitzero"`
	Hash     string   `json:"hash,omitempty"`
	Overlaps []int    `json:"overlaps,omitempty"`
	// Target and Reason belong to vote. Target is -1 for an agent that is not in the
	// panel.
	Target int    `json:"target,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// The names of the coordination tools (seed 003).
const (
	NewAnswer = "new_answer"
	Vote      = "vote"
)

func (c Call) isAct() bool { return c.Name == NewAnswer || c.Name == Vote }

// ToolReply is the result of a ToolCall.
type ToolReply struct {
	Index int `json:"index"`
	// Result is what the model is sent, and Whole all of it where that was cut. That of a
	// snapshot says, for no model, where it is; with Error, why there is none.
	Result blob.Ref `json:"result"`
	Whole  blob.Ref `json:"whole,omitzero"`
	Error  bool     `json:"error,omitempty"`
	// Took is how many milliseconds the tool ran.
	Took int64 `json:"took,omitempty"`
	// State is what became of the call; empty means ToolRan.
	State ToolState `json:"state,omitempty"`
	// Abandoned says that the tool ignored its cancellation, or the end of its time.
	Abandoned bool `json:"abandoned,omitempty"`
}

// Restrict leaves the step only the coordination tools.
type Restrict struct{}

// Update tells the step of a newer set of answers.
type Update struct{ Offer kernel.Offer }

// Note tells the step of what a person has added to the question.
type Note struct{ Text blob.Ref }

// Cancel ends the step once its effects have come back.
type Cancel struct{}

func (ModelReply) event() {}
func (ToolReply) event()  {}
func (Restrict) event()   {}
func (Update) event()     {}
func (Note) event()       {}
func (Cancel) event()     {}

// Outcome is how a step ended. The zero value is that of a step that goes on.
type Outcome struct {
	Kind OutcomeKind `json:"kind,omitempty"`
	// Seen is the set of answers that was in the input of the last call.
	Seen   int      `json:"seen,omitempty"`
	Answer blob.Ref `json:"answer,omitzero"`
	Hash   string   `json:"hash,omitempty"`
	// Work is the result of the snapshot that was taken with the answer, Unkept why there
	// is none; both are zero for an agent without a workspace.
	Work   blob.Ref `json:"work,omitzero"`
	Unkept blob.Ref `json:"unkept,omitzero"`
	For    int      `json:"for,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// OutcomeKind tells the outcomes apart.
type OutcomeKind string

// The outcomes of a step.
const (
	Answered  OutcomeKind = "answered"
	Voted     OutcomeKind = "voted"
	Abstained OutcomeKind = "abstained"
	Failed    OutcomeKind = "failed"
	Stopped   OutcomeKind = "stopped"
	// OutOfTurns is a step that asked for tools to the last. Only a panel of one has an
	// answer with it, if there was any text.
	OutOfTurns OutcomeKind = "max_turns"
)
