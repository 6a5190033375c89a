package step

import (
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// Outcome is the end of a step. It is zero while the step goes on.
type Outcome struct {
	Kind OutcomeKind `json:"kind,omitempty"`
	// Seen identifies the set of answers in the input of the last call.
	Seen   int      `json:"seen,omitempty"`
	Answer blob.Ref `json:"answer,omitzero"`
	Hash   string   `json:"hash,omitempty"`
	// Value is as in effect.ModelReply.
	Value string `json:"value,omitempty"`
	// Opinion is the outcome of a consultation that succeeded, else nil.
	Opinion *effect.Opinion `json:"opinion,omitempty"`
	// Work is the result of the answer's snapshot, Unkept the reason why it failed; both are
	// zero for an agent without a workspace.
	Work   blob.Ref `json:"work,omitzero"`
	Unkept blob.Ref `json:"unkept,omitzero"`
	// FailedCheck reports whether the answer failed its check; Check refers to the check's record.
	FailedCheck bool     `json:"failed_check,omitempty"`
	Check       blob.Ref `json:"check,omitzero"`
	For         int      `json:"for,omitempty"`
	// Others are the agents that a vote names after For.
	Others []int  `json:"others,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// OutcomeKind is the kind of an Outcome.
type OutcomeKind string

// The outcomes of a step.
const (
	Answered  OutcomeKind = "answered"
	Voted     OutcomeKind = "voted"
	Abstained OutcomeKind = "abstained"
	Failed    OutcomeKind = "failed"
	Stopped   OutcomeKind = "stopped"
	// Consulted is a consultation that succeeded.
	Consulted OutcomeKind = "consulted"
	// OutOfTurns is a step that requested tools to its last call. Only a panel of one has an
	// answer with it, if there was any text.
	OutOfTurns OutcomeKind = "max_turns"
)
