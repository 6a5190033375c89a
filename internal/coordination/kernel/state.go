package kernel

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/system/blob"
)

// Answer is one accepted answer. Its label is the agent's id and N, the number of the
// answer among the agent's.
type Answer struct {
	Agent int      `json:"agent"`
	N     int      `json:"n"`
	Round int      `json:"round"`
	Text  blob.Ref `json:"text"`
	Hash  string   `json:"hash"`
	// Value is the hash of the answer's value, if Config.Values asks for values; empty for an
	// answer without one, which equals no other answer.
	Value string `json:"value,omitempty"`
	// Work refers to the author's work beside the text; no rule reads it.
	Work blob.Ref `json:"work,omitzero"`
	// FailedCheck reports whether the answer failed the check of answers. Check refers to the check's
	// record; no rule reads it.
	FailedCheck bool     `json:"failed_check,omitempty"`
	Check       blob.Ref `json:"check,omitzero"`
}

// Vote is one vote, counted or not. Void is the reason why it is not valid, empty for a
// valid vote.
type Vote struct {
	Voter  int    `json:"voter"`
	For    int    `json:"for"`
	Label  string `json:"label"`
	Set    int    `json:"set"`
	Round  int    `json:"round"`
	Reason string `json:"reason"`
	Void   string `json:"void,omitempty"`
	// Others are the agents whose answers the vote names after For, the best first.
	Others []int `json:"others,omitempty"`
	// Saw has the labels of the answers in the order in which the voter was shown them, if that is
	// not the config's. No rule reads it.
	Saw []string `json:"saw,omitempty"`
}

func (v Vote) ballot() election.Ballot {
	return election.Ballot{Voter: v.Voter, For: append([]int{v.For}, v.Others...)}
}

// Phase is the state of an agent's call.
type Phase string

// The phases of an agent. A late agent keeps its call and belongs to no round. The call of
// a stopping agent was cancelled and has not returned yet.
const (
	Idle     Phase = "idle"
	Busy     Phase = "busy"
	Late     Phase = "late"
	Stopping Phase = "stopping"
)

// Act returns the outcome of an agent's last step, ActNone if no step has ended in this round.
// A consultant outside of the panel has none.
func (m *Machine) Act(agent int) Act {
	if agent >= len(m.s.Members) {
		return ActNone
	}
	return m.s.Members[agent].Act
}

// Act is the outcome of an agent's last step.
type Act string

// The acts of an agent, which are also its states in a result.
const (
	ActNone      Act = ""
	ActAnswered  Act = "answered"
	ActVoted     Act = "voted"
	ActAbstained Act = "abstained"
	ActLate      Act = "late"
	ActCancelled Act = "cancelled"
	ActFailed    Act = "failed"
	ActMaxTurns  Act = "max_turns"
	ActDismissed Act = "dismissed"
	// ActNotAsked is an agent of a stage that was not begun.
	ActNotAsked Act = "not_asked"
)

// member is one agent's part of the state.
type member struct {
	Phase Phase `json:"phase"`
	// Failed reports whether the agent is out for the turn, also after a dismissal. Reason is
	// the reason for that, or for abstaining or being out of turns.
	Failed  bool   `json:"failed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Starts  int    `json:"starts"`
	Answers int    `json:"answers"`
	// FormerAnswers counts the agent's answers of earlier attempts.
	FormerAnswers int `json:"former_answers,omitempty"`
	// Round and Seen belong to the current or the last step: its round (eager: its number
	// of starts) and the set that it saw.
	Round int `json:"round"`
	Seen  int `json:"seen"`
	// InRound reports whether the agent is a member of the open round. Act is its act
	// there, or in its last step.
	InRound bool `json:"in_round,omitempty"`
	Act     Act  `json:"act,omitempty"`
	// MayAnswer reports whether the current step was offered new_answer.
	MayAnswer bool `json:"may_answer,omitempty"`
	// RestrictAt and CancelAt are the time limits of the current step; 0 means no limit.
	RestrictAt Time `json:"restrict_at,omitempty"`
	CancelAt   Time `json:"cancel_at,omitempty"`
	// Since is when the current or the last step began, and Took its time once it has ended. Both are
	// zero without Config.StragglerFactor.
	Since Time `json:"since,omitempty"`
	Took  Time `json:"took,omitempty"`
}

func (m member) out() bool { return m.Phase != Idle }

// stage is the stage of the turn.
type stage string

const (
	stageNew        stage = "new"
	stageRunning    stage = "running"
	stagePresenting stage = "presenting"
	stageOver       stage = "over"
)

type state struct {
	Stage   stage    `json:"stage"`
	Now     Time     `json:"now"`
	Members []member `json:"members"`
	// Answers are all accepted answers in the order of their arrival. A set of answers is
	// the standing answers among the first so many.
	Answers []Answer `json:"answers"`
	Votes   []Vote   `json:"votes"`

	Round     int  `json:"round"`
	RoundOpen bool `json:"round_open,omitempty"`
	// RoundSet is the set that the round's members were shown.
	RoundSet int `json:"round_set"`
	// GraceAt is when stragglers may be left behind; 0 means that the clock does not run.
	GraceAt Time `json:"grace_at,omitempty"`
	// TurnAt is the turn's time limit; 0 means no limit.
	TurnAt Time `json:"turn_at,omitempty"`
	WakeAt Time `json:"wake_at,omitempty"`

	Status Status `json:"status,omitempty"`
	// Winner is the winning answer's place in Answers; -1 until there is one.
	Winner int `json:"winner"`
	// Presenting reports whether the winner was asked to present and has not answered.
	Presenting bool     `json:"presenting,omitempty"`
	Presented  blob.Ref `json:"presented"`
	// PresentedWork is the Work of the presentation.
	PresentedWork blob.Ref `json:"presented_work,omitzero"`
	Warnings      []string `json:"warnings,omitempty"`

	// Final reports whether the final answer is there, which the winner may review. FormerRounds and
	// FormerAnswers count those of earlier attempts, Restarts the attempts after the first. Former is what an
	// attempt is told of the one before. Restarting reports whether the next attempt waits for cancelled calls
	// (rule 21).
	Final         bool   `json:"final,omitempty"`
	FormerRounds  int    `json:"former_rounds,omitempty"`
	FormerAnswers int    `json:"former_answers,omitempty"`
	Restarts      int    `json:"restarts,omitempty"`
	Former        Former `json:"former,omitzero"`
	Restarting    bool   `json:"restarting,omitempty"`

	// StagesBegun counts the stages that have begun, and Differing is the newest stage whose
	// answers were found to differ by a verdict.
	StagesBegun int `json:"stages_begun,omitempty"`
	Differing   int `json:"differing,omitempty"`
	// Consulting is the consultation under way. Analysis is the judge's, and Judged reports
	// whether it came with the judgement that decided the turn.
	Consulting *consultation `json:"consulting,omitempty"`
	Analysis   blob.Ref      `json:"analysis,omitzero"`
	Judged     bool          `json:"judged,omitempty"`
	// Unjudged reports whether the judgement or the analysis failed, which is not repeated.
	Unjudged bool `json:"unjudged,omitempty"`
	// Outsiders are the consultants outside of the panel that a person has dismissed.
	Outsiders []int `json:"outsiders,omitempty"`
	// Picks are the judgements so far, and Tie is the tie that a judge is to break.
	Picks []pick `json:"picks,omitempty"`
	Tie   *tie   `json:"tie,omitempty"`
	// Electorate is the weight of the members of the closed round, under the rule quorum.
	Electorate int `json:"electorate,omitempty"`
}

// pick is a judgement: the agent with the best answer, and the analysis.
type pick struct {
	Best     int      `json:"best"`
	Analysis blob.Ref `json:"analysis"`
}

// tie has tied candidates in the config's order, and the status of the turn whichever wins.
type tie struct {
	Among  []int  `json:"among"`
	Status Status `json:"status"`
}

// stateVersion increases when this program could misread an older state.
const stateVersion = 1

type machineJSON struct {
	Version int    `json:"version"`
	Config  Config `json:"config"`
	State   state  `json:"state"`
}

// MarshalJSON encodes the whole machine, with a version.
func (m *Machine) MarshalJSON() ([]byte, error) {
	return json.Marshal(machineJSON{stateVersion, m.cfg, m.s})
}

// UnmarshalJSON decodes a machine that MarshalJSON encoded. It refuses other versions.
func (m *Machine) UnmarshalJSON(data []byte) error {
	var in machineJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read kernel state: %w", err)
	}
	if in.Version != stateVersion {
		return fmt.Errorf("read kernel state: it has version %d, this program reads version %d", in.Version, stateVersion)
	}
	m.cfg, m.s, m.index = in.Config, in.State, nil
	return nil
}

// set returns the current set of answers.
func (m *Machine) set() int { return len(m.s.Answers) }

// agents returns the agents that ok picks, in the config's order.
func (m *Machine) agents(ok func(member) bool) []int {
	var list []int
	for i, x := range m.s.Members {
		if ok(x) {
			list = append(list, i)
		}
	}
	return list
}

// Label returns the name of an answer: the agent's id and N.
func (m *Machine) Label(a Answer) string { return m.cfg.Agents[a.Agent] + "." + strconv.Itoa(a.N) }
