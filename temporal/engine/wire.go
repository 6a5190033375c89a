package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// The names under which workers and clients know the parts of a turn. Another version's workers
// and clients may use any of them.
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
	putTextsName = "massgen.put_texts"
	watchName    = "massgen.watch"

	begunUpdate     = "begun"
	reserveUpdate   = "reserve"
	settleUpdate    = "settle"
	interruptSignal = "interrupt"
	noteSignal      = "note"
	pauseSignal     = "pause"
	dismissSignal   = "dismiss"
	attendSignal    = "attend"
	decideSignal    = "decide"
	homeSignal      = "home_ended"
	progressQuery   = "progress"
	permittedQuery  = "permitted"
)

// request is the request for a turn.
type request struct {
	Session string `json:"session"`
	// Question is empty once the turn has begun.
	Question []byte `json:"question,omitempty"`
	// Terms are the client's terms.
	Terms coordinator.TurnOptions `json:"terms"`
	// Owner is the name under which all workers hold the session.
	Owner    string   `json:"owner"`
	Settings Settings `json:"settings"`
	// Form is the form in which the turn's workflow and its activities work together. Older clients
	// send none. It follows from the turn's queue: a worker listens to those of the forms it knows.
	Form form `json:"form,omitempty"`
	// At is the start of the turn by the workflow's clock, which all of its times use.
	At kernel.Time `json:"at,omitempty"`
	// Played is set for a turn that goes on as a new run.
	Played *played `json:"played,omitempty"`
}

// form is a form of the messages of a turn.
type form int

const (
	// wholeTurns send each activity the whole turn, and write the journal before effects begin.
	wholeTurns form = 0
	// turnsByTexts name texts instead, and write the journal while effects run.
	turnsByTexts form = 2
)

// Settings are times and sizes for playing a turn. The zero value means the defaults.
type Settings struct {
	// Heartbeat is the time after which a silent worker counts as lost: 15 s by default.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	// EffectLimit is the longest time for one effect, a whole call with its retries: a day by
	// default. The limits of calls and tools are those of the config.
	EffectLimit time.Duration `json:"effect_limit,omitempty"`
	// HistoryLimit is the number of events after which a run of the workflow goes on as a new
	// one; 0 lets the server decide.
	HistoryLimit int `json:"history_limit,omitempty"`
	// InlineLimit is above how many bytes a worker makes a message of a turn by texts a text itself, which the
	// message to the server names: 256 KB by default. The server accepts at most 2 MB at once.
	InlineLimit int `json:"inline_limit,omitempty"`
	// AskPatience is the time after which a question about a tool call is decided without a
	// person, if no client reports that it asks one: a minute by default.
	AskPatience time.Duration `json:"ask_patience,omitempty"`
}

const (
	defaultHeartbeat   = 15 * time.Second
	defaultEffectLimit = 24 * time.Hour
	defaultAskPatience = time.Minute
	// Results of thousands of tool calls, and the states of large panels, are so large.
	defaultInlineLimit = 256 << 10
)

func (s Settings) withDefaults() Settings {
	if s.Heartbeat == 0 {
		s.Heartbeat = defaultHeartbeat
	}
	if s.EffectLimit == 0 {
		s.EffectLimit = defaultEffectLimit
	}
	if s.InlineLimit == 0 {
		s.InlineLimit = defaultInlineLimit
	}
	if s.AskPatience == 0 {
		s.AskPatience = defaultAskPatience
	}
	return s
}

// played is a turn between two runs of its workflow, when no effect is out.
type played struct {
	Number int `json:"number"`
	// Events counts the events in the journal.
	Events  int             `json:"events"`
	Machine json.RawMessage `json:"machine,omitempty"`
	// Work is the work that has not begun.
	Work []playedWork `json:"work"`
	// Packed is Machine, compressed, and Ready the work, packed, in turns by texts.
	Packed []byte `json:"packed,omitempty"`
	Ready  []work `json:"ready,omitempty"`
	// Wake is the moment at which the machine wakes, 0 for never.
	Wake        kernel.Time `json:"wake,omitempty"`
	Clock       clock       `json:"clock,omitzero"`
	Interrupted bool        `json:"interrupted,omitempty"`
	Tools       home        `json:"tools"`
	Unattended  bool        `json:"unattended,omitempty"`
}

// playedWork is an effect that has not begun, with the description that its input is built
// from.
type playedWork struct {
	Effect effectJSON  `json:"effect"`
	Turn   effect.Turn `json:"turn"`
}

// effect is a effect.Effect in JSON: one of the two fields.
type effectJSON struct {
	Model *effect.ModelCall `json:"model,omitempty"`
	Tool  *effect.ToolCall  `json:"tool,omitempty"`
}

func effectOf(e effect.Effect) effectJSON {
	switch e := e.(type) {
	case effect.ModelCall:
		return effectJSON{Model: &e}
	case effect.ToolCall:
		return effectJSON{Tool: &e}
	}
	return effectJSON{}
}

func (e effectJSON) effect() (effect.Effect, error) {
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
	Number int `json:"number"`
	// Accepted is the first event, as turn.Encode writes it. In turns by texts Packed has it instead, compressed, so that it
	// stays in the history.
	Accepted []byte `json:"accepted,omitempty"`
	Packed   []byte `json:"packed,omitempty"`
	// Home is the queue of the worker on which the agents' tools run, empty without any.
	Home string `json:"home,omitempty"`
	// Unattended says that a tool call may run if no person can be asked.
	Unattended bool `json:"unattended,omitempty"`
	// Described is the text of the accepted turn's description, in turns by texts.
	Described blob.Ref `json:"described,omitzero"`
}

// work is one effect for a worker.
type work struct {
	Session string `json:"session"`
	Owner   string `json:"owner"`
	// Turn and Effect are empty in a message with a Parcel.
	Turn   effect.Turn `json:"turn,omitzero"`
	Effect effectJSON  `json:"effect,omitzero"`
	// Parcel has the effect, and Described the turn's description, in turns by texts.
	Parcel    *parcel  `json:"parcel,omitempty"`
	Described blob.Ref `json:"described,omitzero"`
	// Try counts the workers that began the effect and were lost.
	Try int `json:"try,omitempty"`
	// Joins says that the worker must return the result and not begin the effect.
	Joins bool `json:"joins,omitempty"`
	// Lost says that the worker with the agent's tools is lost.
	Lost bool `json:"lost,omitempty"`
	// Limited says that attempts need a grant, Priced that money is limited.
	Limited bool `json:"limited,omitempty"`
	Priced  bool `json:"priced,omitempty"`
}

// agentOf returns the id of the agent of a call, "" for a call of no agent.
func agentOf(t *effect.Turn, key effect.Key) string {
	if key.Agent == effect.NoAgent {
		return ""
	}
	return t.Agent(key.Agent).ID
}

// result is the result of an effect: Model or Tool.
type result struct {
	Model *effect.ModelReply `json:"model,omitempty"`
	Tool  *effect.ToolReply  `json:"tool,omitempty"`
	// Settled is the end of a model call's last attempt, unless the worker has booked it by an update.
	Settled *settlement `json:"settled,omitempty"`
}

// entry are events for the journal, from a place on.
type entry struct {
	Session string   `json:"session"`
	Owner   string   `json:"owner"`
	Number  int      `json:"number"`
	Place   int      `json:"place"`
	Events  [][]byte `json:"events,omitempty"`
	// Journal has the events of a turn by texts.
	Journal []json.RawMessage `json:"journal,omitempty"`
}

// newTexts are texts to store for a turn.
type newTexts struct {
	Owner string   `json:"owner"`
	Texts [][]byte `json:"texts"`
}

// held names a turn that holds its session.
type held struct {
	Session string `json:"session"`
	Owner   string `json:"owner"`
	Number  int    `json:"number"`
}

// isHeld reports whether the turn still holds its session.
func (t held) isHeld(ctx context.Context, store Store) (bool, error) {
	b, isHeld, err := store.Held(ctx, t.Session)
	return isHeld && b.Turn == t.Number, err
}

// reservation requests budget for an attempt of a call.
type reservation struct {
	Key  effect.Key    `json:"key"`
	Try  int           `json:"try,omitempty"` // as in work
	Most budget.Amount `json:"most"`
	// Least is turn.Reserving's Least. Workers of an older version send none.
	Least budget.Amount `json:"least,omitzero"`
	// Asks says that the worker asks again until the attempt is decided. Older versions wait.
	Asks bool `json:"asks,omitempty"`
}

// answer is the workflow's answer to an attempt. refused is the reason why it may not be sent,
// or waitWord. If it is empty, the attempt may be sent, with its output shortened by less
// tokens.
type answer struct {
	refused string
	less    int
}

// MarshalJSON writes refused as a text, as older versions do, unless the output is shortened.
// Only workers that sent a Least get a shortened answer.
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

// settlement reports an attempt's end; Spent is nil if it is unknown.
type settlement struct {
	Key   effect.Key     `json:"key"`
	Try   int            `json:"try,omitempty"`
	Spent *budget.Amount `json:"spent,omitempty"`
}

func (s settlement) event(at kernel.Time) turn.Event {
	return turn.Settled{At: at, Key: s.Key, Spent: s.Spent}
}

// progress is the progress of a turn.
type progress struct {
	Number int `json:"turn"`
	// Events counts the events in the journal, Out the effects under way and the open question.
	Events int `json:"events"`
	Out    int `json:"out"`
	// Calls counts the model calls that have ended, Repeated those that were made again.
	Calls    int `json:"calls"`
	Repeated int `json:"repeated"`
	// State is the state of the coordination, as text.
	State string `json:"state"`
}
