package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
)

// The names under which workers and clients know the parts of a turn. A worker of another
// version may be asked for any of them.
const (
	workflowName = "massgen.turn"

	prepareName  = "massgen.prepare"
	performName  = "massgen.perform"
	journalName  = "massgen.journal"
	concludeName = "massgen.conclude"
	finishName   = "massgen.finish"
	leaveName    = "massgen.leave"
	keepName     = "massgen.keep"
	keepNoteName = "massgen.keep_note"

	begunUpdate     = "begun"
	reserveUpdate   = "reserve"
	settleUpdate    = "settle"
	interruptSignal = "interrupt"
	noteSignal      = "note"
	pauseSignal     = "pause"
	dismissSignal   = "dismiss"
	attendSignal    = "attend"
	decideSignal    = "decide"
	progressQuery   = "progress"
	permittedQuery  = "permitted"
)

// request is what a turn is asked for with.
type request struct {
	Session string `json:"session"`
	// Question is empty once the turn has begun.
	Question []byte `json:"question,omitempty"`
	// Terms are those of whoever asks.
	Terms coordinator.TurnOptions `json:"terms"`
	// Owner is the name under which all workers hold the session.
	Owner    string   `json:"owner"`
	Settings Settings `json:"settings"`
	// At is when the turn began, by the workflow's clock, which all of its times are from.
	At kernel.Time `json:"at,omitempty"`
	// Played is set for a turn that goes on as a new run.
	Played *played `json:"played,omitempty"`
}

// Settings are the times by which a turn is played. The zero value means the defaults.
type Settings struct {
	// Heartbeat is after how long a worker of which nothing is heard counts as lost: 15 s
	// by default.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	// EffectLimit is how long one effect may take, a whole call with its repetitions: a day
	// by default. The limits of calls and tools are those of the config.
	EffectLimit time.Duration `json:"effect_limit,omitempty"`
	// HistoryLimit is after how many events a run of the workflow goes on as a new one; 0
	// leaves that to the server.
	HistoryLimit int `json:"history_limit,omitempty"`
	// AskPatience is after how long a question about a tool call is decided without a
	// person, if no client asks one, or is heard of no more: a minute by default.
	AskPatience time.Duration `json:"ask_patience,omitempty"`
}

const (
	defaultHeartbeat   = 15 * time.Second
	defaultEffectLimit = 24 * time.Hour
	defaultAskPatience = time.Minute
)

func (s Settings) withDefaults() Settings {
	if s.Heartbeat == 0 {
		s.Heartbeat = defaultHeartbeat
	}
	if s.EffectLimit == 0 {
		s.EffectLimit = defaultEffectLimit
	}
	if s.AskPatience == 0 {
		s.AskPatience = defaultAskPatience
	}
	return s
}

// played is a turn between two runs of its workflow, when no effect is out.
type played struct {
	Number int `json:"number"`
	// Events counts those in the journal.
	Events  int             `json:"events"`
	Machine json.RawMessage `json:"machine"`
	// Work is what is to begin.
	Work []playedWork `json:"work"`
	// Wake is when the machine wants to be woken, 0 for never.
	Wake        kernel.Time `json:"wake,omitempty"`
	Clock       clock       `json:"clock,omitzero"`
	Interrupted bool        `json:"interrupted,omitempty"`
	Tools       home        `json:"tools"`
	Unattended  bool        `json:"unattended,omitempty"`
}

// playedWork is an effect that is to begin, and what its input is built from.
type playedWork struct {
	Effect effect       `json:"effect"`
	Turn   machine.Turn `json:"turn"`
}

// effect is a machine.Effect in JSON: one of the two.
type effect struct {
	Model *machine.ModelCall `json:"model,omitempty"`
	Tool  *machine.ToolCall  `json:"tool,omitempty"`
}

func effectOf(e machine.Effect) effect {
	switch e := e.(type) {
	case machine.ModelCall:
		return effect{Model: &e}
	case machine.ToolCall:
		return effect{Tool: &e}
	}
	return effect{}
}

func (e effect) effect() (machine.Effect, error) {
	switch {
	case e.Model != nil:
		return *e.Model, nil
	case e.Tool != nil:
		return *e.Tool, nil
	}
	return nil, fmt.Errorf("an effect that is neither a model call nor a tool call")
}

// begun is a turn whose journal has its first event.
type begun struct {
	Number   int    `json:"number"`
	Accepted []byte `json:"accepted"` // as turn.Encode writes it
	// Home is the queue of the worker on which the agents' tools run, empty without any.
	Home string `json:"home,omitempty"`
	// Unattended says that a tool call may run which nobody can be asked about.
	Unattended bool `json:"unattended,omitempty"`
}

// work is one effect for a worker.
type work struct {
	Session string       `json:"session"`
	Owner   string       `json:"owner"`
	Turn    machine.Turn `json:"turn"`
	Effect  effect       `json:"effect"`
	// Try counts the workers that had begun it and were lost.
	Try int `json:"try,omitempty"`
	// Joins says that the result is asked for, and the effect not to be begun.
	Joins bool `json:"joins,omitempty"`
	// Lost says that the worker is lost which has the agent's tools.
	Lost bool `json:"lost,omitempty"`
	// Limited says that attempts need a grant, Priced that money is limited.
	Limited bool `json:"limited,omitempty"`
	Priced  bool `json:"priced,omitempty"`
}

// result is what an effect came to: one of the two.
type result struct {
	Model *machine.ModelReply `json:"model,omitempty"`
	Tool  *machine.ToolReply  `json:"tool,omitempty"`
}

// entry are events for the journal, from a place on.
type entry struct {
	Session string   `json:"session"`
	Owner   string   `json:"owner"`
	Number  int      `json:"number"`
	Place   int      `json:"place"`
	Events  [][]byte `json:"events"`
}

// held names a turn that is held.
type held struct {
	Session string `json:"session"`
	Owner   string `json:"owner"`
	Number  int    `json:"number"`
}

// reservation asks for an attempt of a call.
type reservation struct {
	Key  machine.Key   `json:"key"`
	Try  int           `json:"try,omitempty"` // as in work
	Most budget.Amount `json:"most"`
	// Least is that of turn.Reserving. Workers of an older version send none.
	Least budget.Amount `json:"least,omitzero"`
	// Asks says that the worker asks again until it is decided. Those of an older version wait.
	Asks bool `json:"asks,omitempty"`
}

// answer is the workflow's answer to an attempt: refused says why it may not be sent, or
// waitWord, and is empty if it may, with so many tokens of output less than it asked for.
type answer struct {
	refused string
	less    int
}

// MarshalJSON writes refused as a text, as older versions do, unless the output is shortened.
// Only workers that sent a Least are answered so.
func (a answer) MarshalJSON() ([]byte, error) {
	if a.less > 0 {
		return json.Marshal(shortened{a.less})
	}
	return json.Marshal(a.refused)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *answer) UnmarshalJSON(data []byte) error {
	*a = answer{}
	var short shortened
	if err := json.Unmarshal(data, &short); err == nil {
		a.less = short.Less
		return nil
	}
	return json.Unmarshal(data, &a.refused)
}

// shortened is the answer to an attempt whose output is shortened.
type shortened struct {
	Less int `json:"less"`
}

// settlement tells of an attempt's end; Spent is nil where nobody knows.
type settlement struct {
	Key   machine.Key    `json:"key"`
	Try   int            `json:"try,omitempty"`
	Spent *budget.Amount `json:"spent,omitempty"`
}

// Progress is how far a turn is.
type Progress struct {
	Number int `json:"turn"`
	// Events counts those in the journal, Out the effects that are out, and the question.
	Events int `json:"events"`
	Out    int `json:"out"`
	// Calls counts the model calls that have ended, Repeated those that were made again.
	Calls    int `json:"calls"`
	Repeated int `json:"repeated"`
	// State is the coordination's, as text.
	State string `json:"state"`
}
