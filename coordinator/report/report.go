package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/policy"
	"github.com/massgen/massgen/internal/turn"
)

// Source is the input of a report beside the events of its turn.
type Source struct {
	// Session is the id of the turn's session, Turn its number there, from 1.
	Session string
	Turn    int
	// Texts reads the texts that the journal names. Events have no texts if it is nil.
	Texts agents.Lookup
	// WarnAt has for each agent's id how full its context may be before a step warns.
	WarnAt map[string]policy.Thresholds
	// Providers has for each agent's id the type of its model's provider, as far as they are
	// known: the journal does not have it.
	Providers map[string]string
}

// Report projects one turn, up to its last applied event, for people. One goroutine owns it.
type Report struct {
	machine *turn.Machine
	source  Source
	// warnings are the result's context warnings.
	warnings []AgentContextWarning
	// leftOut has for each agent the call that omitted most of its step.
	leftOut map[int]machine.LeftOut
	// summaries counts the calls for summaries of omitted messages.
	summaries map[int]stepSummaries
	// said is the transcript of a panel of one.
	said []machine.Entry
	// offered caches lists of agents' own tools.
	offered map[blob.Ref][]backends.Tool
	// cited has the sources of answers, by their texts.
	cited map[blob.Ref]blob.Ref
	// place is the place of the last event that follows from the journal alone.
	place int
	// hasSchema says that the turn's answers have to fit one.
	hasSchema bool
}

// New returns the report of a turn. Apply must follow each event that the machine m applies.
func New(m *turn.Machine, s Source) *Report {
	return &Report{machine: m, source: s, leftOut: map[int]machine.LeftOut{}, summaries: map[int]stepSummaries{}, offered: map[blob.Ref][]backends.Tool{}, cited: map[blob.Ref]blob.Ref{}}
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
func (r *Report) Transcript() []machine.Entry { return r.said }

// SetWarnings sets the context warnings at the turn's start. The journal does not have them:
// call it before the first event, and again before the event that ends a summary call.
func (r *Report) SetWarnings(warnings []AgentContextWarning) { r.warnings = warnings }

// Apply receives an event that the machine has applied, with its commands, and returns the
// events for people, with their places.
func (r *Report) Apply(ev turn.Event, commands []turn.Command) []Event {
	told := r.apply(ev, commands)
	for i, t := range told {
		if _, isWarning := t.(ContextWarned); isWarning { // it goes by the panel's settings, too
			continue
		}
		r.place++
		told[i] = t.stamped(Header{Place: r.place})
	}
	return told
}

func (r *Report) apply(ev turn.Event, commands []turn.Command) (told []Event) {
	switch ev := ev.(type) {
	case turn.Accepted:
		r.hasSchema = ev.Turn.Schema != (blob.Ref{})
		if !summarizes(ev.Turn) {
			told = r.contextWarned() // else after the summary, which changes them
		}
	case turn.ModelDone:
		switch {
		case ev.Key.Purpose.IsStepSummary():
			told = []Event{r.stepSummarized(ev)}
		case ev.Key.Agent != machine.NoAgent:
			r.noteCitations(ev.Reply)
			told = []Event{r.callEnded(ev)}
		}
	}
	for _, c := range commands {
		told = append(told, r.eventsOf(c)...)
	}
	return told
}

// eventsOf returns the events of a command. They lack unreadable texts: the process that plays
// the turn gets the store's error itself.
func (r *Report) eventsOf(c turn.Command) []Event {
	switch c := c.(type) {
	case turn.Run:
		return r.effectStarted(c.Effect)
	case turn.StepStarted:
		return []Event{StepStarted{Actor: r.actor(c.Agent, c.Round), Purpose: c.Purpose, HasSchema: r.hasSchema}}
	case turn.WentToJSON:
		return []Event{WentToJSON{Actor: r.actor(c.Agent, c.Round)}}
	case turn.HeldUp:
		return []Event{HeldUp{Actor: ActorOf(c.Key, r.id), Why: c.Why}}
	case turn.ToolEnded:
		call, _ := r.describeCall(c.Call)
		return []Event{ToolEnded{Actor: r.actorOf(c.Call.Call.Key), Tool: call, Elapsed: elapsed(c.Call.Ended - c.Call.Started)}}
	case turn.NewTools:
		return []Event{ToolsChanged{Actor: r.actor(c.Agent, 0), Tools: CompareTools(byName(r.readTools(c.Before)), byName(r.readTools(c.After)))}}
	case turn.StepEnded:
		if c.Purpose == machine.Conversation {
			r.said = c.Transcript
		}
		return []Event{r.stepEnded(c)}
	case turn.Clock:
		if c.Runs {
			return []Event{Unpaused{}}
		}
		return []Event{Paused{}}
	case turn.AgentDismissed:
		return []Event{Dismissed{Actor: r.actor(c.Agent, 0)}}
	case turn.NoteAccepted:
		return []Event{Noted{Text: r.textOf(c.Text)}}
	case turn.SidecallStarted:
		return []Event{SidecallStarted{Purpose: c.Sidecall.Purpose}}
	case turn.SidecallEnded:
		return r.sidecallEnded(c)
	}
	return nil
}

// effectStarted returns the events of an effect that begins.
func (r *Report) effectStarted(effect machine.Effect) []Event {
	key := effect.EffectKey()
	if key.Agent == machine.NoAgent || key.Purpose.IsSnapshot() { // a snapshot is part of its answer's event
		return nil
	}
	actor := r.actorOf(key)
	if key.Purpose.IsStepSummary() {
		return []Event{SidecallStarted{Actor: actor, Purpose: machine.StepSummarizing}}
	}
	if call, ok := effect.(machine.ModelCall); ok {
		return append(r.warnOfStep(call), CallStarted{Actor: actor, Number: key.Index + 1, Tools: r.toolsOf(call)})
	}
	tool, _ := r.describeCall(turn.ToolCall{Call: effect.(machine.ToolCall)})
	return []Event{ToolStarted{Actor: actor, Tool: tool}}
}

func (r *Report) callEnded(ev turn.ModelDone) Event {
	end := CallEnded{Actor: r.actorOf(ev.Key), Number: ev.Key.Index + 1, Model: r.model(ev.Key.Agent), Usage: turn.UsageOf(ev.Reply)}
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
	end.State = c.Outcome.Kind.StepState() // the next step may have begun
	work, _ := agents.ReadSnapshot(r.texts, c.Outcome.Work)
	partial := r.textOf(c.Partial)
	switch c.Outcome.Kind {
	case machine.Answered:
		if c.Purpose.IsFinalAnswer() {
			return Presented{StepEnd: end, Snapshot: work}
		}
		return Answered{StepEnd: end, Label: c.Label, Void: c.Void, Content: r.textOf(c.Outcome.Answer), Snapshot: work}
	case machine.Voted:
		return Voted{StepEnd: end, Label: c.Label, Reason: c.Outcome.Reason, Void: c.Void}
	case machine.Abstained, machine.OutOfTurns:
		return Abstained{StepEnd: end, Reason: c.Outcome.Reason, Partial: partial}
	case machine.Stopped:
		return Cancelled{StepEnd: end, Partial: partial}
	}
	return Failed{StepEnd: end, Reason: c.Outcome.Reason, Partial: partial}
}

// sidecallEnded returns the events of a sidecall that ended.
func (r *Report) sidecallEnded(c turn.SidecallEnded) (told []Event) {
	if why := c.Outcome.Failure; why != "" {
		told = append(told, SidecallFailed{Purpose: c.Outcome.Purpose, Why: why, Usage: c.Usage})
	} else {
		told = append(told, SidecallEnded{Purpose: c.Outcome.Purpose, Usage: c.Usage})
	}
	if c.Outcome.Purpose == machine.Summarizing {
		told = append(told, r.contextWarned()...)
	}
	return told
}

func (r *Report) actor(agent, round int) Actor {
	return Actor{Agent: r.id(agent), Round: round, State: r.machine.StepState(agent)}
}

// actorOf returns the actor of an agent's effect.
func (r *Report) actorOf(key machine.Key) Actor { return r.actor(key.Agent, key.Round) }

func (r *Report) id(agent int) string { return r.machine.Turn().Agents[agent].ID }

func (r *Report) texts(ref blob.Ref) ([]byte, error) {
	if r.source.Texts == nil || ref == (blob.Ref{}) {
		return nil, errors.New("there is no such text")
	}
	return r.source.Texts(ref)
}

// textOf returns a text, or "" if it cannot be read.
func (r *Report) textOf(ref blob.Ref) string {
	text, _ := r.texts(ref)
	return string(text)
}

func elapsed(t kernel.Time) time.Duration { return time.Duration(t) * time.Millisecond }
