package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/blob"
)

// Machine is the state of one turn. The zero value waits for an Accepted event.
// It is not safe for concurrent use: one goroutine owns it.
type Machine struct {
	s   state
	out []Command
	// withdrawn are questions that must still be answered within one Apply.
	withdrawn []effect.PermissionRequest
}

type state struct {
	Kernel *kernel.Machine `json:"kernel"`
	Turn   effect.Turn     `json:"turn"`
	// Steps has the step under way of each agent, or nil.
	Steps []*openStep `json:"steps"`
	// Usage is the usage of each agent, and Abandoned the agents whose calls ignored their
	// cancellation.
	Usage     []budget.Usage `json:"usage"`
	Abandoned []int          `json:"abandoned,omitempty"`
	// JSON has the agents whose models turned out to use no tools (ToolsAuto).
	JSON []int `json:"json,omitempty"`
	// Carried has the tool calls that each agent's later inputs have, nil for an agent that has ended no step.
	Carried [][]effect.Entry `json:"carried,omitempty"`
	// Tools has the changed list of own tools of each agent, nil for agents without a change.
	Tools []*blob.Ref `json:"tools,omitempty"`
	// Truncated has the agents with a message that was cut at its output limit.
	Truncated []int `json:"truncated,omitempty"`
	// Endings has the other messages that did not end as they should, one of each kind.
	Endings   []Ending   `json:"endings,omitempty"`
	Fallbacks []Fallback `json:"fallbacks,omitempty"`
	Sidecalls sidecalls  `json:"asides,omitzero"`
	Account   account    `json:"account,omitzero"`
	ToolCalls []ToolRun  `json:"tool_calls,omitempty"`
	Unkept    []Unkept   `json:"unkept,omitempty"`
	Partials  []Partial  `json:"partials,omitempty"`
	Notes     notes      `json:"notes,omitzero"`
	Pause     pause      `json:"pause,omitzero"`
	// Permissions are the questions that wait for a person; IsPermissionOpen reports whether the
	// first of them was put.
	Permissions      []effect.PermissionRequest `json:"asks,omitempty"`
	IsPermissionOpen bool                       `json:"is_asking,omitempty"`
	// Withdrawn are the questions that were put and withdrawn. Their answers may still come.
	Withdrawn []effect.Key `json:"taken_back,omitempty"`
	// Consulted counts the model calls of the consultations that have ended.
	Consulted []consultedCalls `json:"consulted,omitempty"`
}

// consultedCalls counts model calls of consultations. Their agent and purpose may be the same in
// several of them.
type consultedCalls struct {
	Agent   int            `json:"agent"`
	Purpose effect.Purpose `json:"purpose"`
	Calls   int            `json:"calls"`
}

// Fallback describes an agent's calls that went to another model than its own.
type Fallback struct {
	Agent int `json:"agent"`
	// Fallback is the one of the first such call.
	effect.Fallback
	Calls int `json:"calls"`
}

// openStep is a step under way, with the data for its end.
type openStep struct {
	Step    *step.Machine  `json:"step"`
	Round   int            `json:"round"`
	Purpose effect.Purpose `json:"purpose"`
	Started kernel.Time    `json:"started"`
	Usage   budget.Usage   `json:"usage"`
	// Partial is the received part of the last message, if its call failed.
	Partial blob.Ref `json:"partial,omitzero"`
}

const stateVersion = 1

type machineJSON struct {
	Version int   `json:"version"`
	State   state `json:"state"`
}

// MarshalJSON encodes the whole machine, with a version.
func (m *Machine) MarshalJSON() ([]byte, error) { return json.Marshal(machineJSON{stateVersion, m.s}) }

// UnmarshalJSON decodes a machine that MarshalJSON encoded. It refuses other versions.
func (m *Machine) UnmarshalJSON(data []byte) error {
	var in machineJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read turn state: %w", err)
	}
	if in.Version != stateVersion {
		return fmt.Errorf("read turn state: it has version %d, this program reads version %d", in.Version, stateVersion)
	}
	m.s = in.State
	return nil
}

// Begun reports whether a turn was accepted.
func (m *Machine) Begun() bool { return m.s.Kernel != nil }

// Over reports whether the turn has its result. Results of cancelled effects may still come;
// they change only the usage.
func (m *Machine) Over() bool { return m.s.Kernel != nil && m.s.Kernel.Over() }

// Turn returns the description that the turn's inputs are built from. It holds until the next event: the
// caller must not change it, and copies what it keeps.
func (m *Machine) Turn() *effect.Turn { return &m.s.Turn }

// Usage returns each agent's cost so far, in the config's order.
func (m *Machine) Usage() []budget.Usage { return append([]budget.Usage(nil), m.s.Usage...) }

// Abandoned returns the agents whose calls ignored their cancellation.
func (m *Machine) Abandoned() []int { return append([]int(nil), m.s.Abandoned...) }

// WithoutTools returns the agents whose models turned out to use no tools and write JSON
// objects since.
func (m *Machine) WithoutTools() []int { return append([]int(nil), m.s.JSON...) }

// Truncated returns the agents with a message that was cut at its output limit.
func (m *Machine) Truncated() []int { return append([]int(nil), m.s.Truncated...) }

// Ending is the end of a message that was cut for another reason than its output limit, or that has a
// word which is not known.
type Ending struct {
	Agent  int    `json:"agent"`
	Finish string `json:"finish"`
	Cut    bool   `json:"cut,omitempty"`
}

// Endings returns such ends.
func (m *Machine) Endings() []Ending { return slices.Clone(m.s.Endings) }

// Fallbacks returns the calls that went to other models, in the order of the first of each.
func (m *Machine) Fallbacks() []Fallback { return slices.Clone(m.s.Fallbacks) }

// Result returns the kernel's result; it is final once Over.
func (m *Machine) Result() kernel.Result { return m.s.Kernel.Result() }

// Rules returns the rules of the turn.
func (m *Machine) Rules() kernel.Config { return m.s.Kernel.Config() }

// Label names an answer: the agent's id and the count of its answers.
func (m *Machine) Label(a kernel.Answer) string { return m.s.Kernel.Label(a) }

// TurnAt returns the end of the turn's time, 0 for never.
func (m *Machine) TurnAt() kernel.Time { return m.s.Kernel.TurnAt() }

// GraceAt returns when the round goes on without the agents at work, 0 for never.
func (m *Machine) GraceAt() kernel.Time { return m.s.Kernel.GraceAt() }

// StepState returns the state in which an agent's step waits, or its last one ended.
func (m *Machine) StepState(agent int) step.State {
	if s := m.s.Steps[agent]; s != nil {
		return s.Step.State()
	}
	switch m.s.Kernel.Act(agent) {
	case kernel.ActNone:
		return step.Idle
	case kernel.ActFailed:
		return step.Error
	}
	return step.Completed
}

// Describe returns the coordination's state as text.
func (m *Machine) Describe() string { return m.s.Kernel.Describe() }

// Apply applies one event and returns the commands that follow. An event that is impossible in
// this state is an error: the journal, or the engine, is damaged, and the machine must not be
// used any more.
func (m *Machine) Apply(ev Event) ([]Command, error) {
	m.out = nil
	if err := m.apply(ev); err != nil {
		return nil, fmt.Errorf("turn: %s: %w", kind(ev), err)
	}
	m.hold()
	return m.out, nil
}

func (m *Machine) apply(ev Event) error {
	if accepted, ok := ev.(Accepted); ok {
		return m.accept(accepted)
	}
	if m.s.Kernel == nil {
		return errors.New("no turn was accepted")
	}
	if err := m.take(ev); err != nil {
		return err
	}
	return m.checkBudget(ev.When())
}

func (m *Machine) take(ev Event) error {
	switch ev := ev.(type) {
	case ModelDone:
		return m.modelDone(ev)
	case ToolDone:
		return m.toolDone(ev)
	case ToolsChanged:
		return m.toolsChanged(ev)
	case kernel.Woke:
		return m.decide(ev)
	case kernel.Interrupted:
		return m.interrupted(ev)
	case Decided:
		return m.decided(ev)
	case Committed:
		return m.committed(ev)
	case Reserving:
		return m.reserving(ev)
	case Settled:
		return m.settled(ev)
	case Resumed:
		return m.resumed(ev)
	case Lost:
		return m.lost(ev)
	case Noted:
		return m.noted(ev)
	case Paused:
		return m.paused()
	case Unpaused:
		return m.unpaused()
	case kernel.Dismissed:
		return m.dismissed(ev)
	}
	return fmt.Errorf("unknown event %T", ev)
}

func (m *Machine) accept(ev Accepted) error {
	if m.s.Kernel != nil {
		return errors.New("a turn was accepted already")
	}
	k, err := kernel.New(ev.Rules)
	if err != nil {
		return err
	}
	n := len(ev.Rules.Agents)
	if len(ev.Turn.Agents) != n {
		return fmt.Errorf("%d agents have rules and %d have calls", n, len(ev.Turn.Agents))
	}
	if (ev.Rules.Judge == kernel.JudgeID) != (ev.Turn.Judge != nil) || ev.Rules.VerdictByOther != (ev.Turn.Verdict != nil) {
		return errors.New("the rules and the description differ in who is consulted")
	}
	size := ev.Turn.Size()
	m.s = state{Kernel: k, Turn: ev.Turn, Steps: make([]*openStep, size), Usage: make([]budget.Usage, size)}
	m.s.Account.Ledger.Limits = ev.Budget
	if len(ev.Turn.Sidecalls) > 0 {
		m.ask(ev.Turn.Sidecalls)
		return nil
	}
	return m.beginRounds(ev.At)
}

func (m *Machine) modelDone(ev ModelDone) error {
	if ev.Key.Agent == effect.NoAgent {
		return m.sidecallDone(ev)
	}
	if err := m.checkOut(ev.Key); err != nil {
		return err
	}
	agent := ev.Key.Agent
	m.book(agent, UsageOf(ev.Reply))
	if f := ev.Reply.Failure; f != nil && f.Abandoned {
		once(&m.s.Abandoned, agent)
	}
	if !ev.Key.Purpose.IsStepSummary() { // that is none of the agent's messages
		m.recordPartial(ev)
		m.noteSeen(ev)
		m.noteHosted(ev)
		if ev.Reply.Truncated {
			once(&m.s.Truncated, agent)
		} else if ev.Reply.Finish != "" {
			once(&m.s.Endings, Ending{agent, ev.Reply.Finish, ev.Reply.Cut})
		}
	}
	if f := ev.Reply.Fallback; f != nil {
		m.recordFallback(agent, *f)
	}
	return m.reply(ev.At, agent, ev.Reply)
}

// book adds the cost of a call by a working agent, or by effect.NoAgent.
func (m *Machine) book(agent int, u budget.Usage) {
	switch {
	case agent != effect.NoAgent:
		m.s.Usage[agent] = m.s.Usage[agent].Plus(u)
		m.s.Steps[agent].Usage = m.s.Steps[agent].Usage.Plus(u)
	case m.Over():
		m.s.Sidecalls.Following = m.s.Sidecalls.Following.Plus(u)
	default:
		m.s.Sidecalls.Usage = m.s.Sidecalls.Usage.Plus(u)
	}
}

func (m *Machine) recordFallback(agent int, f effect.Fallback) {
	same := func(g Fallback) bool { return g.Agent == agent && g.From == f.From && g.To == f.To }
	i := slices.IndexFunc(m.s.Fallbacks, same)
	if i < 0 {
		i = len(m.s.Fallbacks)
		m.s.Fallbacks = append(m.s.Fallbacks, Fallback{Agent: agent, Fallback: f})
	}
	m.s.Fallbacks[i].Calls++
}

func (m *Machine) toolDone(ev ToolDone) error {
	if err := m.checkOut(ev.Key); err != nil {
		return err
	}
	if ev.Reply.Index != ev.Key.Index {
		return fmt.Errorf("the result of %s says that it is that of %d", ev.Key, ev.Reply.Index)
	}
	if ev.Reply.Abandoned {
		once(&m.s.Abandoned, ev.Key.Agent)
	}
	m.recordTool(ev)
	return m.reply(ev.At, ev.Key.Agent, ev.Reply)
}

// once adds an agent to a list, unless the list has it.
func once[T comparable](list *[]T, one T) {
	if !slices.Contains(*list, one) {
		*list = append(*list, one)
	}
}

// checkOut refuses a result that nothing waits for, such as one that the journal has twice.
func (m *Machine) checkOut(key effect.Key) error {
	if key.Agent < 0 || key.Agent >= len(m.s.Steps) {
		return fmt.Errorf("there is no agent %d", key.Agent)
	}
	if s := m.s.Steps[key.Agent]; s == nil || !s.Step.Waits(key) || m.isHeld(key) {
		return fmt.Errorf("no effect %s is out", key)
	}
	return nil
}
