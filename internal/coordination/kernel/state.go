package kernel

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/massgen/massgen/internal/system/blob"
)

// Answer is one accepted answer. Its label is the agent's id and N, the count of
// that agent's answers.
type Answer struct {
	Agent int      `json:"agent"`
	N     int      `json:"n"`
	Round int      `json:"round"`
	Text  blob.Ref `json:"text"`
	Hash  string   `json:"hash"`
	// Work names what the author had made beside the text; no rule reads it.
	Work blob.Ref `json:"work,omitzero"`
}

// Vote is one vote, counted or not. Void is empty while the vote is valid, else
// it says why it is not.
type Vote struct {
	Voter  int    `json:"voter"`
	For    int    `json:"for"`
	Label  string `json:"label"`
	Set    int    `json:"set"`
	Round  int    `json:"round"`
	Reason string `json:"reason"`
	Void   string `json:"void,omitempty"`
}

// Phase says whether an agent has a call out.
type Phase string

// The phases of an agent. A late agent keeps its call and belongs to no round; a
// stopping one was cancelled and its call has not come back yet.
const (
	Idle     Phase = "idle"
	Busy     Phase = "busy"
	Late     Phase = "late"
	Stopping Phase = "stopping"
)

// Act returns what an agent's last step came to, ActNone if none has ended in this round.
func (m *Machine) Act(agent int) Act { return m.s.Members[agent].Act }

// Act is what an agent's last step came to.
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
)

// member is one agent's part of the state.
type member struct {
	Phase Phase `json:"phase"`
	// Failed says that the agent is out for the turn, also when it was dismissed; Reason
	// is why, or why it abstained or is out of turns.
	Failed  bool   `json:"failed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Starts  int    `json:"starts"`
	Answers int    `json:"answers"`
	// Round and Seen are of the current step, else of the last one: its round
	// (eager: its number of starts) and the set that it saw.
	Round int `json:"round"`
	Seen  int `json:"seen"`
	// InRound says that the agent is a member of the open round, Act what it did
	// there, or in its last step.
	InRound bool `json:"in_round,omitempty"`
	Act     Act  `json:"act,omitempty"`
	// MayAnswer says that the current step was offered new_answer.
	MayAnswer bool `json:"may_answer,omitempty"`
	// RestrictAt and CancelAt are the time limits of the current step, 0: none.
	RestrictAt Time `json:"restrict_at,omitempty"`
	CancelAt   Time `json:"cancel_at,omitempty"`
}

func (m member) out() bool { return m.Phase != Idle }

// stage is how far the turn has come.
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
	// Answers are all accepted answers in the order of their arrival. A set of
	// answers is the standing ones among the first so many.
	Answers []Answer `json:"answers"`
	Votes   []Vote   `json:"votes"`

	Round     int  `json:"round"`
	RoundOpen bool `json:"round_open,omitempty"`
	// RoundSet is the set that the round's members were shown.
	RoundSet int `json:"round_set"`
	// GraceAt is when stragglers may be left behind, 0: not running.
	GraceAt Time `json:"grace_at,omitempty"`
	// TurnAt is the turn's time limit, 0: none.
	TurnAt Time `json:"turn_at,omitempty"`
	WakeAt Time `json:"wake_at,omitempty"`

	Status Status `json:"status,omitempty"`
	// Winner is the winning answer's place in Answers; -1 until there is one.
	Winner int `json:"winner"`
	// Presenting says that the winner was asked to present and has not answered.
	Presenting bool     `json:"presenting,omitempty"`
	Presented  blob.Ref `json:"presented"`
	// PresentedWork is the Work of the presentation.
	PresentedWork blob.Ref `json:"presented_work,omitzero"`
	Warnings      []string `json:"warnings,omitempty"`
}

// stateVersion is raised whenever a state that was written before could be
// misread.
const stateVersion = 1

type machineJSON struct {
	Version int    `json:"version"`
	Config  Config `json:"config"`
	State   state  `json:"state"`
}

// MarshalJSON writes the whole machine, with a version.
func (m *Machine) MarshalJSON() ([]byte, error) {
	return json.Marshal(machineJSON{stateVersion, m.cfg, m.s})
}

// UnmarshalJSON reads what MarshalJSON wrote, and refuses another version.
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

// set is the current set of answers.
func (m *Machine) set() int { return len(m.s.Answers) }

// agents returns those that ok picks, in the config's order.
func (m *Machine) agents(ok func(member) bool) []int {
	var list []int
	for i, x := range m.s.Members {
		if ok(x) {
			list = append(list, i)
		}
	}
	return list
}

// Label names an answer: the agent's id and the count of its answers.
func (m *Machine) Label(a Answer) string { return m.cfg.Agents[a.Agent] + "." + strconv.Itoa(a.N) }
