package effect

import "github.com/massgen/massgen/internal/system/blob"

// Reply is the result of an effect: ModelReply or ToolReply.
type Reply interface{ reply() }

func (ModelReply) reply() {}
func (ToolReply) reply()  {}

// ModelReply is the result of a ModelCall.
type ModelReply struct {
	// Message is the assistant's message as it was read: calls in its text are calls here (see Agent.TextCalls).
	Message blob.Ref `json:"message"`
	// Text is the message's text, Hash its normalised hash; zero if it is blank.
	Text blob.Ref `json:"text"`
	Hash string   `json:"hash,omitempty"`
	// Value is the hash of the text's value, if the turn has values; empty if the text has none.
	Value string `json:"value,omitempty"`
	// Opinion is the reply to a consultation, nil if the text is none.
	Opinion *Opinion `json:"opinion,omitempty"`
	// Problem is the reason why the text does not fit the turn's schema; Text is zero then.
	Problem string `json:"problem,omitempty"`
	// Markup reports whether the text has the markup of a call that does not count; Text is zero then.
	Markup bool `json:"markup,omitempty"`
	// Calls are the message's tool calls in order, their arguments decoded.
	Calls []Call `json:"calls,omitempty"`
	// Hosted are the calls of hosted tools in the message, in order: the provider has run them.
	Hosted []Hosted `json:"hosted,omitempty"`
	// Citations is the JSON of a list of backends.Citation: the sources of the answer that the
	// message has, or zero.
	Citations blob.Ref `json:"citations,omitzero"`
	Usage     *Usage   `json:"usage,omitempty"`
	// Fallback is set if another model than the agent's own replied.
	Fallback *Fallback `json:"fallback,omitempty"`
	// Truncated reports whether the message ended at its output limit.
	Truncated bool `json:"truncated,omitempty"`
	// Finish is the provider's word for the end of the message, empty if the word is one that ends
	// a whole message. Cut reports whether the message is not whole: a word that is not known does
	// not cut a message whose calls are whole.
	Finish string `json:"finish,omitempty"`
	Cut    bool   `json:"cut,omitempty"`
	// Blank describes a message that has neither a text nor a call, for people; empty for any other.
	Blank string `json:"blank,omitempty"`
	// Change is the change that the reply to a sidecall makes.
	Change Change `json:"change,omitzero"`
	// Failure is the reason why there is no message.
	Failure *Failure `json:"failure,omitempty"`
	// Partial is the received text of a message that failed, zero if none had arrived. It is
	// for people: no rule reads it, and it is never an answer.
	Partial blob.Ref `json:"partial,omitzero"`
	// Sent is the record of the call's input, nil if there is none.
	Sent *Sent `json:"sent,omitempty"`
}

// Opinion is the reply to a consultation. Best is the agent with the best answer, and Analysis the
// text of the analysis, for a judgement or an analysis. Same is a verdict.
type Opinion struct {
	Best     int      `json:"best,omitempty"`
	Same     bool     `json:"same,omitempty"`
	Analysis blob.Ref `json:"analysis,omitzero"`
}

// BlankReason returns the reason why a message without a text is no answer.
func (r ModelReply) BlankReason() string {
	if r.Blank == "" {
		return "the model's reply was empty"
	}
	return "the model's reply was empty: " + r.Blank
}

// Hosted is a call that the provider has run. Its arguments and its result stand in the message.
type Hosted struct {
	Name  string `json:"name"`
	Error bool   `json:"error,omitempty"`
}

// Usage is the cost of a call; a nil Usage is unknown.
type Usage struct {
	InputTokens       int `json:"input_tokens"`
	OutputTokens      int `json:"output_tokens"`
	CachedInputTokens int `json:"cached_input_tokens"`
	ReasoningTokens   int `json:"reasoning_tokens,omitempty"` // part of OutputTokens
	// CostUSD is nil if the price is unknown.
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// Fallback names the models that failed before the call went to To, each with its provider, and
// the reason why the last of them failed.
type Fallback struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Failure is an error of an effect, for people.
type Failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// NoTools reports whether the service accepts no tools for this model.
	NoTools bool `json:"no_tools,omitempty"`
	// Unsent reports whether no request was sent.
	Unsent bool `json:"unsent,omitempty"`
	// Abandoned reports whether the effect ignored its cancellation.
	Abandoned bool `json:"abandoned,omitempty"`
}

// Call is one tool call of a message, decoded as far as the rules need.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Own reports whether the name is one of the agent's own tools. Permission decides whether the
	// call may run, and Why names the rule.
	Own        bool       `json:"own,omitempty"`
	Permission Permission `json:"permission,omitempty"`
	Why        string     `json:"why,omitempty"`
	// Problem is the fault of a coordination tool's arguments.
	Problem string `json:"problem,omitempty"`
	// Answer, Hash, Value and Overlaps belong to new_answer: the text, its normalised hash, its
	// value as in ModelReply, and how many thousandths of its words each shown answer has.
	Answer   blob.Ref `json:"answer,omitzero"`
	Hash     string   `json:"hash,omitempty"`
	Value    string   `json:"value,omitempty"`
	Overlaps []int    `json:"overlaps,omitempty"`
	// Target, Others and Reason belong to vote. Target is -1 for an agent outside of the panel. Others
	// are the agents that the vote names after it.
	Target int    `json:"target,omitempty"`
	Others []int  `json:"others,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// The names of the coordination tools (seed 003).
const (
	NewAnswer = "new_answer"
	Vote      = "vote"
)

// IsAct reports whether the call is one of a coordination tool.
func (c Call) IsAct() bool { return c.Name == NewAnswer || c.Name == Vote }

// ToolReply is the result of a ToolCall.
type ToolReply struct {
	Index int `json:"index"`
	// Result is the text that the model gets, and Whole the whole result if that was cut. The
	// result of a snapshot names its place, for no model; with Error, the reason why there is
	// none.
	Result blob.Ref `json:"result"`
	Whole  blob.Ref `json:"whole,omitzero"`
	Error  bool     `json:"error,omitempty"`
	// Files are the pictures that the tool returned beside the text.
	Files []blob.File `json:"files,omitempty"`
	// ElapsedMS is how many milliseconds the tool ran.
	ElapsedMS int64 `json:"took,omitempty"`
	// Exit is the exit status of a check's command.
	Exit int `json:"exit,omitempty"`
	// State is the outcome of the call; empty means ToolRan.
	State ToolState `json:"state,omitempty"`
	// Abandoned reports whether the tool ignored its cancellation, or the end of its time.
	Abandoned bool `json:"abandoned,omitempty"`
}
