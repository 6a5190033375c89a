package effect

import (
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

// NoAgent is the Agent in the Key of a sidecall (DESIGN §1).
const NoAgent = -1

// The purposes of sidecalls. A turn has at most one call of each.
const (
	// Summarizing requests a summary of older turns, TopicDetection the topic of the question;
	// both come before round 1.
	Summarizing    Purpose = "summary"
	TopicDetection Purpose = "topic"
	// FileDescription asks for the words that stand for the attached files where a model
	// takes none; it comes before round 1 too.
	FileDescription Purpose = "description"
	// FactExtraction requests facts about the user, after the winner is committed.
	FactExtraction Purpose = "facts"
)

// Sidecall is a call that belongs to no agent, with its whole input.
type Sidecall struct {
	Purpose Purpose `json:"purpose"`
	Model   string  `json:"model"`
	// Params is the JSON of backends.Params, Messages that of a list of
	// backends.Message, Tools that of a list of backends.Tool.
	Params   blob.Ref `json:"params"`
	Messages blob.Ref `json:"messages"`
	Tools    blob.Ref `json:"tools,omitzero"`
	// Covers are the turns that a summary must cover.
	Covers policy.Range `json:"covers,omitzero"`
}

// Key returns the key of the sidecall's call.
func (a Sidecall) Key() Key { return Key{Agent: NoAgent, Purpose: a.Purpose} }

// Summary is a text that replaces older turns.
type Summary struct {
	policy.Range
	Text blob.Ref `json:"text"`
}

// Change is the change of the turn by the reply to a sidecall. Zero fields change nothing.
type Change struct {
	// Question replaces the question.
	Question blob.Ref `json:"question,omitzero"`
	// Sections are as in Turn.
	Sections blob.Ref `json:"sections,omitzero"`
	// Description is as in Turn.
	Description blob.Ref `json:"description,omitzero"`
	Summary     *Summary `json:"summary,omitempty"`
	// Shown has the selection of the history with the new summary for each agent and consultant,
	// by index, nil for all of it, and Steps the limits of its steps beside that; empty if that
	// does not change.
	Shown []*policy.Selection  `json:"shown,omitempty"`
	Steps []*policy.StepLimits `json:"steps,omitempty"`
	// Kept is a text to store beyond the turn.
	Kept blob.Ref `json:"kept,omitzero"`
}

// Changed returns the turn after a change.
func (t Turn) Changed(c Change) Turn {
	if c.Question != (blob.Ref{}) {
		t.Question = c.Question
	}
	if c.Sections != (blob.Ref{}) {
		t.Sections = c.Sections
	}
	if c.Description != (blob.Ref{}) {
		t.Description = c.Description
	}
	if c.Summary != nil {
		t.Summary = c.Summary
	}
	if len(c.Shown) == t.Size() {
		t.Agents, t.Judge, t.Verdict = append([]Agent(nil), t.Agents...), copied(t.Judge), copied(t.Verdict)
		for i, shown := range c.Shown {
			a := t.Agent(i)
			if a == nil {
				continue
			}
			a.Shown = shown
			if len(c.Steps) == len(c.Shown) { // journals of earlier versions have none
				a.Step = c.Steps[i]
			}
		}
	}
	return t
}

func copied(a *Agent) *Agent {
	if a == nil {
		return nil
	}
	return new(*a)
}
