package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// Source is the input of a report beside the events of its turn.
type Source struct {
	// Session is the id of the turn's session, Turn its number there, from 1.
	Session string
	Turn    int
	// Texts reads the texts that the journal names. Events have no texts if it is nil.
	Texts agents.Lookup
	// Member returns what the panel has of an agent and the journal does not: how full its context may be
	// before a step warns, and the type of its model's provider, "" if unknown. Member may be nil.
	Member func(agent int) (warnAt policy.Thresholds, provider string)
}

// Report projects one turn, up to its last applied event, for people. One goroutine owns it.
type Report struct {
	machine *turn.Machine
	source  Source
	// warnings are the result's context warnings.
	warnings []AgentContextWarning
	// longSteps has the agents whose steps were not sent in full. It is nil while there are none.
	longSteps map[int]*longStep
	// said is the transcript of a panel of one.
	said []effect.Entry
	// offered caches lists of agents' own tools.
	offered []offeredTools
	// cited has the sources of answers, by their texts. It is nil while there are none.
	cited map[blob.Ref]blob.Ref
	// seen has the set of answers that the author of each answer was shown, by label. It is nil
	// while there are none.
	seen map[string]int
	// place is the place of the last event that follows from the journal alone.
	place int
	// hasSchema reports whether the turn's answers must fit a schema.
	hasSchema bool
	// graceAt is when the round goes on without the agents at work, 0 for never.
	graceAt kernel.Time
}

// New returns the report of a turn. Apply must follow each event that the machine m applies.
func New(m *turn.Machine, s Source) *Report {
	return &Report{machine: m, source: s}
}

// Project returns the report of a journal. If an event breaks the machine, as in a damaged
// import, the report ends there, and the error says so.
func Project(journal []turn.Event, s Source) (r *Report, err error) {
	r = New(new(turn.Machine), s)
	r.source.Texts = nil // nobody reads these events
	defer func() {
		r.source.Texts = s.Texts
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the machine panicked: %v", fault)
		}
	}()
	for i, ev := range journal {
		commands, err := r.machine.Apply(ev)
		if err != nil {
			return r, fmt.Errorf("event %d of its journal: %w", i+1, err)
		}
		r.Apply(ev, commands)
	}
	return r, nil
}

// Machine returns the turn's machine, for reading.
func (r *Report) Machine() *turn.Machine { return r.machine }

// Transcript returns the messages in the step of a panel of one.
func (r *Report) Transcript() []effect.Entry { return r.said }

// SetWarnings sets the context warnings at the turn's start. The journal does not have them:
// call it before the first event, and again before the event that ends a summary call.
func (r *Report) SetWarnings(warnings []AgentContextWarning) { r.warnings = warnings }

// Apply receives an event that the machine has applied, with its commands, and returns the
// events for people, with their places.
func (r *Report) Apply(ev turn.Event, commands []turn.Command) []Event {
	told := make([]Event, 0, 1+len(commands))
	switch ev := ev.(type) {
	case turn.Accepted:
		r.hasSchema = ev.Turn.Schema != (blob.Ref{})
		if !summarizes(&ev.Turn) {
			told = r.contextWarned(told) // else after the summary, which changes them
		}
	case turn.ModelDone:
		switch {
		case ev.Key.Purpose.IsStepSummary():
			told = append(told, r.stepSummarized(ev))
		case ev.Key.Agent != effect.NoAgent:
			r.noteCitations(ev.Reply)
			told = append(told, r.callEnded(ev))
		}
	}
	for _, c := range commands {
		told = r.carried(told, c)
	}
	return r.awaited(told, ev.When())
}

// awaited adds the event of a new time until which stragglers are waited for.
func (r *Report) awaited(told []Event, now kernel.Time) []Event {
	at := r.machine.GraceAt()
	isNew := at != r.graceAt && at > now
	if r.graceAt = at; !isNew {
		return told
	}
	var ids []string
	for i, a := range r.machine.Turn().Agents {
		if s := r.machine.StepState(i); s == step.AwaitingLLM || s == step.AwaitingTool {
			ids = append(ids, a.ID)
		}
	}
	return append(told, Awaited{Header: r.header(), Agents: ids, Within: elapsed(at - now)})
}

// carried adds the events of a command. They lack unreadable texts: the process that plays
// the turn gets the store's error itself.
func (r *Report) carried(told []Event, c turn.Command) []Event {
	switch c := c.(type) {
	case turn.Run:
		return r.effectStarted(told, c.Effect)
	case turn.StepStarted:
		return append(told, r.stepStarted(c))
	case turn.WentToJSON:
		return append(told, WentToJSON{Actor: r.actor(c.Agent, c.Round)})
	case turn.HeldUp:
		actor := ActorOf(c.Key, r.id)
		actor.Header = r.header()
		return append(told, HeldUp{Actor: actor, Why: c.Why})
	case turn.RequestPermission:
		asked := effect.ToolCall{Key: c.Request.Key, Message: c.Request.Message, Call: c.Request.Call, Name: c.Request.Name}
		call, _ := r.describeCall(turn.ToolRun{Call: asked})
		return append(told, PermissionRequested{Actor: r.actorOf(asked.Key), Call: asked.Key.CallID(r.id), Tool: call, Why: c.Request.Why})
	case turn.ToolEnded:
		call, _ := r.describeCall(c.Call)
		return append(told, ToolEnded{Actor: r.actorOf(c.Call.Call.Key), Call: c.Call.Call.Key.CallID(r.id), Tool: call, Elapsed: elapsed(c.Call.Ended - c.Call.Started)})
	case turn.NewTools:
		return append(told, ToolsChanged{Actor: r.actor(c.Agent, 0), Tools: CompareTools(byName(r.readTools(c.Before)), byName(r.readTools(c.After)))})
	case turn.StepEnded:
		if c.Purpose == effect.Conversation {
			r.said = c.Transcript
		}
		return append(told, r.stepEnded(c))
	case turn.Clock:
		if c.Runs {
			return append(told, Unpaused{r.header()})
		}
		return append(told, Paused{r.header()})
	case turn.AgentDismissed:
		return append(told, Dismissed{Actor: r.actor(c.Agent, 0)})
	case turn.NoteAccepted:
		return append(told, Noted{Header: r.header(), Text: r.textOf(c.Text)})
	case turn.SidecallStarted:
		return append(told, SidecallStarted{Actor: Actor{Header: r.header()}, Purpose: c.Sidecall.Purpose})
	case turn.SidecallEnded:
		return r.sidecallEnded(told, c)
	}
	return told
}

// stepStarted returns the event of a step that begins.
func (r *Report) stepStarted(c turn.StepStarted) Event {
	ev := StepStarted{Actor: r.actor(c.Agent, c.Round), Purpose: c.Purpose, HasSchema: r.hasSchema}
	if stages := len(r.machine.Rules().Stages); stages > 0 && c.Round == 1 && c.Purpose == effect.Coordination {
		ev.Stage, ev.Stages = r.machine.Result().Stage, stages
	}
	return ev
}

// effectStarted adds the events of an effect that begins.
func (r *Report) effectStarted(told []Event, eff effect.Effect) []Event {
	key := eff.EffectKey()
	if key.Agent == effect.NoAgent || key.Purpose.IsSnapshot() || key.Purpose.IsCheck() { // they are part of its answer's event
		return told
	}
	actor := r.actorOf(key)
	if key.Purpose.IsStepSummary() {
		return append(told, SidecallStarted{Actor: actor, Purpose: effect.StepSummarizing})
	}
	if call, ok := eff.(effect.ModelCall); ok {
		return append(r.warnOfStep(told, call), CallStarted{Actor: actor, Call: key.CallID(r.id), Number: key.Index + 1, Tools: r.toolsOf(call)})
	}
	tool, _ := r.describeCall(turn.ToolRun{Call: eff.(effect.ToolCall)})
	return append(told, ToolStarted{Actor: actor, Call: key.CallID(r.id), Tool: tool})
}

func (r *Report) callEnded(ev turn.ModelDone) Event {
	end := CallEnded{Actor: r.actorOf(ev.Key), Call: ev.Key.CallID(r.id), Number: ev.Key.Index + 1, Model: r.model(ev.Key.Agent), Usage: turn.UsageOf(ev.Reply)}
	if f := ev.Reply.Fallback; f != nil {
		end.Model = f.To
	}
	if f := ev.Reply.Failure; f != nil {
		end.Why = f.Kind
	}
	return end
}

// stepEnded returns the event of a step that ended.
func (r *Report) stepEnded(c turn.StepEnded) Event {
	end := StepEnd{Actor: r.actor(c.Agent, c.Round), Elapsed: elapsed(c.Elapsed), Usage: c.Usage, ToolCalls: c.ToolCalls}
	end.State = c.Outcome.Kind.State() // the next step may have begun
	if c.Purpose.IsConsultation() {
		return r.consulted(end, c)
	}
	r.recordSeen(c)
	work, _ := agents.ReadSnapshot(r.texts, c.Outcome.Work)
	partial := r.textOf(c.Partial)
	switch c.Outcome.Kind {
	case step.Answered:
		if c.Purpose.IsFinalAnswer() {
			return Presented{StepEnd: end, Snapshot: work}
		}
		return Answered{StepEnd: end, Label: c.Label, Void: c.Void, Content: r.textOf(c.Outcome.Answer), Snapshot: work}
	case step.Voted:
		return Voted{StepEnd: end, Label: c.Label, Reason: c.Outcome.Reason, Void: c.Void}
	case step.Abstained, step.OutOfTurns:
		return Abstained{StepEnd: end, Reason: c.Outcome.Reason, Partial: partial}
	case step.Stopped:
		return Cancelled{StepEnd: end, Partial: partial}
	}
	return Failed{StepEnd: end, Reason: c.Outcome.Reason, Partial: partial}
}

// consulted returns the event of a consultation that ended.
func (r *Report) consulted(end StepEnd, c turn.StepEnded) Event {
	ev := Consulted{StepEnd: end, Purpose: c.Purpose, Label: c.Label, Why: c.Outcome.Reason}
	if o := c.Outcome.Opinion; o != nil {
		ev.Same = o.Same
		if c.Purpose == effect.Review {
			ev.Review = r.review(o.Analysis)
			return ev
		}
		ev.Analysis, _ = r.analysis(o.Analysis, r.machine.Result())
	}
	return ev
}

// review reads the text of a review.
func (r *Report) review(ref blob.Ref) *contextbuild.Review {
	review := &contextbuild.Review{}
	if err := json.Unmarshal([]byte(r.textOf(ref)), review); err != nil {
		review.Reason = "its review cannot be read"
	}
	return review
}

// sidecallEnded adds the events of a sidecall that ended.
func (r *Report) sidecallEnded(told []Event, c turn.SidecallEnded) []Event {
	actor := Actor{Header: r.header()}
	if why := c.Outcome.Failure; why != "" {
		told = append(told, SidecallFailed{Actor: actor, Purpose: c.Outcome.Purpose, Why: why, Usage: c.Usage})
	} else {
		told = append(told, SidecallEnded{Actor: actor, Purpose: c.Outcome.Purpose, Usage: c.Usage})
	}
	if c.Outcome.Purpose == effect.Summarizing {
		told = r.contextWarned(told)
	}
	return told
}

// header returns the header of the next event that follows from the journal alone, with its place. A
// context warning has none, because it depends on the panel's settings too.
func (r *Report) header() Header {
	r.place++
	return Header{Place: r.place}
}

// actor returns the header of the next event, which is about an agent.
func (r *Report) actor(agent, round int) Actor {
	return Actor{Header: r.header(), Agent: r.id(agent), Round: round, State: r.machine.StepState(agent)}
}

// actorOf is actor for an agent's effect.
func (r *Report) actorOf(key effect.Key) Actor { return r.actor(key.Agent, key.Round) }

func (r *Report) id(agent int) string { return r.machine.Turn().Agent(agent).ID }

func (r *Report) member(agent int) (warnAt policy.Thresholds, provider string) {
	if r.source.Member != nil {
		warnAt, provider = r.source.Member(agent)
	}
	return warnAt, provider
}

var errNoText = errors.New("there is no such text")

func (r *Report) texts(ref blob.Ref) ([]byte, error) {
	if r.source.Texts == nil || ref == (blob.Ref{}) {
		return nil, errNoText
	}
	return r.source.Texts(ref)
}

// textOf returns a text, or "" if it cannot be read.
func (r *Report) textOf(ref blob.Ref) string {
	text, _ := r.texts(ref)
	return string(text)
}

func elapsed(t kernel.Time) time.Duration { return time.Duration(t) * time.Millisecond }
