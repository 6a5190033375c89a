// Package picture draws a turn: agents as lanes over time, model calls as bars, tool calls,
// answers and votes as marks. New computes the picture from the turn's journal alone; the
// package renders it for a terminal, as SVG and as one HTML page. It is pure.
package picture

import (
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// Picture is a turn as people see it drawn. Its times count from the turn's beginning by the
// turn's clock, which stands still while the turn is paused or nobody plays it.
type Picture struct {
	Session  string
	Turn     int
	Question string
	Began    time.Time // in UTC
	Length   time.Duration
	// Over is false for a turn that is running or was interrupted without a result. Status is final
	// only if Over is true.
	Over   bool
	Status kernel.Status
	// Winner is the id of the winning agent, WinnerLabel names its answer, Answer is the text
	// that was shown; all are empty without a winner.
	Winner, WinnerLabel, Answer string
	// Rounds are in the order of their beginnings. A turn at the eager pace has none: each of
	// its agents counts rounds of its own.
	Rounds []Round
	// Lanes are the agents in the config's order, then, in the order of their first calls, consultants
	// outside of the panel and one for the calls that belong to no agent, then one for events of the
	// whole turn, if there are any.
	Lanes    []Lane
	Calls    []Call
	Tools    []Tool
	Answers  []Answer
	Votes    []Vote
	Notes    []report.ResultNote
	Partials []report.PartialText
	Warnings []string
	Usage    budget.Usage
	// Analysis compares the answers, which it names by their labels; nil without one.
	Analysis *contextbuild.Analysis
}

// Round is where a round, or the final answer, begins.
type Round struct {
	Name string
	At   time.Duration
}

// Lane is a row of the picture.
type Lane struct {
	// Name is the agent's id, or the purpose of the lane.
	Name    string
	IsAgent bool
	Model   string
	// State is the agent's last act, or what its step waits for. Error is why it failed.
	State, Error string
	Usage        budget.Usage
	Wins         bool
	// Calls and Tools are indices into the picture's lists.
	Calls, Tools []int
	Marks        []Mark
}

// Call is a model call. Key.Index counts from 0.
type Call struct {
	Key      backends.Key
	Lane     int
	From, To time.Duration
	// End is how the call ended. Why is the kind of the error of a failed call.
	End   CallEnd
	Why   string
	Model string
	Usage budget.Usage
	// Input has the model's input and reply in words, empty if Source has none.
	Input string
}

// CallEnd is how a model call ended.
type CallEnd string

// The ends of a model call. A lost call was made again, by the same process or another one. An open call
// was running when the journal ended.
const (
	CallDone   CallEnd = "done"
	CallFailed CallEnd = "failed"
	CallLost   CallEnd = "lost"
	CallOpen   CallEnd = "no result"
)

// Tool is a call of one of an agent's own tools, with its whole arguments and result.
type Tool struct {
	Agent, Name       string
	Round             int
	From, To          time.Duration
	State             effect.ToolState
	IsError           bool
	Arguments, Result string
}

// Mark is something that happened at a moment.
type Mark struct {
	Kind MarkKind
	At   time.Duration
	// Label names the answer that was given or voted for, Target is the lane of the answer's
	// author, or -1.
	Label  string
	Target int
	// Void marks an answer that was not used, or a vote that did not count. Wins marks the winning
	// answer.
	Void, Wins bool
}

// MarkKind is the kind of a mark.
type MarkKind string

// The kinds of marks. Note and those after it belong to the whole turn.
const (
	AnswerMark   MarkKind = "answer"
	FinalMark    MarkKind = "final answer"
	VoteMark     MarkKind = "vote"
	JudgeMark    MarkKind = "opinion of a judge"
	AbstainMark  MarkKind = "abstention"
	FailMark     MarkKind = "failure"
	CancelMark   MarkKind = "cancelled step"
	DismissMark  MarkKind = "dismissal"
	NoteMark     MarkKind = "note"
	PauseMark    MarkKind = "pause"
	ContinueMark MarkKind = "end of the pause"
	CutMark      MarkKind = "interrupt"
	ResumeMark   MarkKind = "another process goes on"
)

// Answer is an answer that was accepted.
type Answer struct {
	Agent, Label, Text string
	Round              int
	At                 time.Duration
	// Stands is true if no later answer of its author replaced it.
	Stands, Wins bool
}

// Vote is a vote. Void is why it does not count, empty if it does.
type Vote struct {
	Voter, Label, Reason, Void string
	Round                      int
}
