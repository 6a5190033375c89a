package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// State is what the events of a turn add up to, for all screens. It depends on the events alone: the same events
// give the same state live, replayed and read from a journal. One goroutine owns it; Clone copies it for another.
type State struct {
	// Agents are the agents of the panel, in the config's order.
	Agents []AgentState `json:"agents"`
	// Rounds are the rounds that have begun, in their order, and the step of the final answer. At the eager pace the
	// rounds of agents overlap.
	Rounds []Round `json:"rounds"`
	// Acts are the ends of steps and the dismissals, in their order.
	Acts []Act `json:"acts"`
	// Notes are a person's additions to the question, in their order.
	Notes []StateNote `json:"notes"`
	// Sidecalls are the calls of no agent, in their order.
	Sidecalls []SidecallState `json:"sidecalls"`
	// News are the newest sentences about the turn, at most mostNews; all of them if KeepsNews.
	News      []News `json:"news"`
	KeepsNews bool   `json:"-"`
	// Lead is who leads the votes, nil before the first vote that counts.
	Lead *lead `json:"lead,omitempty"`
	// Awaited is the time after which the round goes on without the agents that are at work, zero without one.
	Awaited time.Time `json:"awaited,omitzero"`
	// Paused reports that no call begins.
	Paused bool `json:"paused,omitempty"`
	// Stage is the part of the turn that runs: "before", "rounds", "final" or "ended".
	Stage string `json:"stage"`
	// Cascade names the stage of a cascade that runs, as in "stage 1 of 2"; it is "" without one.
	Cascade string `json:"cascade,omitempty"`
	// Analysis is the judge's newest analysis, nil before there is one.
	Analysis *contextbuild.Analysis `json:"analysis,omitempty"`
	// Began is the time of the first event, EndedAt the time of the result.
	Began   time.Time `json:"began,omitzero"`
	EndedAt time.Time `json:"ended_at,omitzero"`
	// Status is the result's status, empty while the turn runs.
	Status  kernel.Status `json:"status,omitempty"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
	// Usage is the usage of all calls that have ended.
	Usage budget.Usage `json:"usage"`
	// Session has the totals of the session after the turn, nil before.
	Session *SessionUpdate `json:"session,omitempty"`

	// Mask hides the secrets of a whole text before Apply cuts it: half a secret could not be found. Nil hides nothing.
	Mask func(text string) string `json:"-"`

	told int // sentences so far
}

// The stages of a turn.
const (
	stageBefore = "before" // before round 1
	stageRounds = "rounds"
	stageFinal  = "final" // the final answer
	stageEnded  = "ended"
)

// AgentState is an agent's part of a turn so far.
type AgentState struct {
	ID    string     `json:"id"`
	Phase step.Phase `json:"phase"`
	// Detail explains the phase: the tool, the label of the answer or vote, the reason of a failure.
	Detail string `json:"detail,omitempty"`
	// Doing is the phase in words, with its tool or label.
	Doing string `json:"doing"`
	// Round and Purpose are of the newest step; Began and Took are its start and, at its end, its time.
	Round   int            `json:"round,omitempty"`
	Purpose effect.Purpose `json:"purpose,omitempty"`
	Began   time.Time      `json:"began,omitzero"`
	Took    time.Duration  `json:"took,omitempty"`
	// Since is the start of the phase.
	Since time.Time `json:"since,omitzero"`
	// Call is the id of the newest model call, Model the model that replied last.
	Call  string `json:"call,omitempty"`
	Model string `json:"model,omitempty"`
	// Usage is the usage of all calls that have ended. Streamed counts the bytes that the open call has told.
	Usage    budget.Usage `json:"usage"`
	Streamed int          `json:"streamed,omitempty"`
	Marks    Marks        `json:"marks"`
	// Text is the newest part of what the agent has written and done. Dropped counts the pieces that are gone from
	// its beginning.
	Text    []Piece `json:"text"`
	Dropped int     `json:"dropped,omitempty"`

	before budget.Usage // of the steps before this one
	size   int          // of Text, in bytes
	sent   int          // notes in the open call
	saw    int          // notes in calls that came back
}

// Marks are what is unusual about an agent.
type Marks struct {
	// JSON reports that the agent's model calls no tools and writes JSON objects.
	JSON bool `json:"json,omitempty"`
	// Fallback is the model that serves the step in place of the agent's own, empty without one.
	Fallback string `json:"fallback,omitempty"`
	// Retrying is why the open call failed and is made again, empty if it did not; RetryAt is when.
	Retrying string    `json:"retrying,omitempty"`
	RetryAt  time.Time `json:"retry_at,omitzero"`
	// HeldUp is why the call waits for budget, empty if it does not.
	HeldUp string `json:"held_up,omitempty"`
	// Summarizing reports that another call summarizes the oldest part of the step.
	Summarizing bool `json:"summarizing,omitempty"`
	// Checked reports that the text must fit a schema before it is an answer.
	Checked bool `json:"checked,omitempty"`
	// Context is the newest warning about the agent's context, empty without one.
	Context policy.Warning `json:"context,omitempty"`
}

// Round is a round that has begun.
type Round struct {
	// Number counts from 1. Final reports that this is the step of the final answer.
	Number int       `json:"number"`
	Final  bool      `json:"final,omitempty"`
	Began  time.Time `json:"began"`
}

// Act is the end of a step, or a dismissal.
type Act struct {
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Round int       `json:"round,omitempty"`
	// Phase is the agent's phase after the act; Final is as in Round. A dismissed agent's step may still end.
	Phase step.Phase `json:"phase"`
	Final bool       `json:"final,omitempty"`
	// Label is the label of the answer, or of the answer that the vote is for.
	Label string `json:"label,omitempty"`
	// Reason is the reason of a vote, an abstention or a failure. Void is why an answer or vote does not count.
	Reason  string        `json:"reason,omitempty"`
	Void    string        `json:"void,omitempty"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
	Usage   budget.Usage  `json:"usage,omitzero"`
}

// StateNote is a person's addition to the question.
type StateNote struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	// SeenBy are the agents one of whose calls had the note and came back with a message.
	SeenBy []string `json:"seen_by"`
}

// SidecallState is a call that belongs to no agent.
type SidecallState struct {
	Purpose effect.Purpose `json:"purpose"`
	Began   time.Time      `json:"began,omitzero"`
	EndedAt time.Time      `json:"ended_at,omitzero"`
	// Why is the reason of a failure, empty without one.
	Why string `json:"why,omitempty"`
}

// News is a sentence about the turn.
type News struct {
	// Number counts the sentences of a turn from 1. The newest sentence may grow: one about agents that begin, or about a
	// tool's progress.
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	// Kind is the kind of the event, Agent the agent that it is about, empty for the whole turn.
	Kind     string `json:"kind"`
	Agent    string `json:"agent,omitempty"`
	Replayed bool   `json:"replayed,omitempty"`
	// Index is the place of a note in State.Notes, and of a vote in State.Acts.
	Index int `json:"-"`
	Sentence

	round   int // of agents that begin
	purpose effect.Purpose
	names   []string
	call    string // of a tool
}

// mostNews is the highest number of kept sentences, unless the state keeps all.
const mostNews = 2000

// NewState returns the state of a turn before its first event. Agents without an id here are added when they begin.
func NewState(ids ...string) *State {
	s := &State{
		Agents: make([]AgentState, 0, len(ids)), Rounds: []Round{}, Acts: []Act{}, Notes: []StateNote{}, Sidecalls: []SidecallState{}, News: []News{},
		Stage: stageBefore,
	}
	for _, id := range ids {
		s.add(id)
	}
	return s
}

func (s *State) add(id string) *AgentState {
	s.Agents = append(s.Agents, AgentState{ID: id, Phase: step.PhaseIdle, Doing: string(step.PhaseIdle), Text: []Piece{}})
	return &s.Agents[len(s.Agents)-1]
}

// Agent returns an agent by its id, nil if it is unknown, as for a sidecall.
func (s *State) Agent(id string) *AgentState {
	for i := range s.Agents {
		if s.Agents[i].ID == id {
			return &s.Agents[i]
		}
	}
	return nil
}

// IsAlone reports whether the panel is one agent: it has no rounds, labels and votes.
func (s *State) IsAlone() bool { return len(s.Agents) == 1 }

// IsOver reports whether the turn has its result.
func (s *State) IsOver() bool { return s.Stage == stageEnded }

// Running returns the running time of the turn at a time.
func (s *State) Running(now time.Time) time.Duration {
	switch {
	case s.Began.IsZero():
		return 0
	case s.IsOver():
		return max(s.EndedAt.Sub(s.Began), 0)
	}
	return max(now.Sub(s.Began), 0)
}

// Clone returns a copy that shares nothing that Apply changes.
func (s *State) Clone() *State {
	c := *s
	c.Agents, c.Rounds, c.Acts = slices.Clone(s.Agents), slices.Clone(s.Rounds), slices.Clone(s.Acts)
	c.Notes, c.Sidecalls, c.News = slices.Clone(s.Notes), slices.Clone(s.Sidecalls), slices.Clone(s.News)
	for i := range c.Agents {
		c.Agents[i].Text = slices.Clone(c.Agents[i].Text)
	}
	for i := range c.Notes {
		c.Notes[i].SeenBy = slices.Clone(c.Notes[i].SeenBy)
	}
	return &c
}

// Apply adds an event.
func (s *State) Apply(ev Event) {
	ev = s.masked(ev)
	agent, why := Voided(ev)
	if a := s.Agent(agent); a != nil && a.Phase.IsBusy() { // else its text is finished, and stands
		a.takeBack(why)
	}
	if s.Began.IsZero() {
		s.Began = ev.Head().At
	}
	switch ev := ev.(type) {
	case TextDelta:
		s.write(ev.Actor, ev.Call, step.PhaseWriting, kindOf(ev.Act), ev.Text)
	case Thinking:
		s.write(ev.Actor, ev.Call, step.PhaseThinking, step.PieceThought, ev.Text)
	case StepStarted:
		s.begin(ev)
	case CallStarted, CallEnded, ToolCalled, ToolStarted, ToolProgress, ToolEnded, PermissionRequested, Retrying, FellBack, HeldUp, WentToJSON, ContextWarned, Panicked, ToolsChanged:
		s.applyCall(ev)
	case Answered, Voted, Abstained, Failed, Cancelled, Presented, Consulted, Dismissed:
		s.applyEnd(ev)
		s.Lead = s.leading()
	case SidecallStarted, SidecallEnded, SidecallFailed:
		s.applySidecall(ev)
	default:
		s.applyTurn(ev)
	}
	s.tell(ev)
}

// begin begins a step.
func (s *State) begin(ev StepStarted) {
	a := s.Agent(ev.Agent)
	if a == nil {
		a = s.add(ev.Agent)
	}
	a.open(ev)
	isFinal := ev.Purpose.IsFinalAnswer()
	isNew := !slices.ContainsFunc(s.Rounds, func(r Round) bool { return r.Number >= ev.Round && r.Final == isFinal })
	if isNew {
		s.Rounds = append(s.Rounds, Round{ev.Round, isFinal, ev.At})
		s.Awaited = time.Time{}
	}
	if s.Stage = stageRounds; isFinal {
		s.Stage = stageFinal
	}
	s.Cascade = stageOf(ev)
}

// applyTurn applies an event about the whole turn.
func (s *State) applyTurn(ev Event) {
	switch ev := ev.(type) {
	case Noted:
		s.Notes = append(s.Notes, StateNote{At: ev.At, Text: ev.Text, SeenBy: []string{}})
	case Paused:
		s.Paused = true
	case Unpaused:
		s.Paused = false
	case Awaited:
		s.Awaited = ev.At.Add(ev.Within)
	case SessionUpdated:
		s.Session = &ev.Session
	case Ended:
		s.Stage, s.Status, s.EndedAt, s.Elapsed, s.Usage = stageEnded, ev.Status, ev.At, ev.Elapsed, ev.Usage
		s.Paused, s.Awaited = false, time.Time{}
		for i := range s.Agents {
			if a := &s.Agents[i]; a.Phase.IsBusy() {
				a.takeBack("the turn ended")
				a.to(step.PhaseLate, "", ev.At)
			}
		}
	}
}

// applySidecall applies an event of a sidecall, or of the call for a summary of an agent's step.
func (s *State) applySidecall(ev Event) {
	switch ev := ev.(type) {
	case SidecallStarted:
		if a := s.Agent(ev.Agent); a != nil {
			a.Marks.Summarizing = true
			return
		}
		s.Sidecalls = append(s.Sidecalls, SidecallState{Purpose: ev.Purpose, Began: ev.At})
	case SidecallEnded:
		s.endSidecall(ev.Actor, ev.Purpose, "", ev.Usage)
	case SidecallFailed:
		s.endSidecall(ev.Actor, ev.Purpose, ev.Why, ev.Usage)
	}
}

func (s *State) endSidecall(by Actor, purpose effect.Purpose, why string, used budget.Usage) {
	if !s.IsOver() {
		s.Usage = s.Usage.Plus(used)
	}
	if a := s.Agent(by.Agent); a != nil {
		a.Marks.Summarizing = false
		a.Usage = a.Usage.Plus(used)
		return
	}
	i := slices.IndexFunc(s.Sidecalls, func(c SidecallState) bool { return c.Purpose == purpose && c.EndedAt.IsZero() })
	if i < 0 { // the store failed
		s.Sidecalls = append(s.Sidecalls, SidecallState{Purpose: purpose, EndedAt: by.At, Why: why})
		return
	}
	s.Sidecalls[i].EndedAt, s.Sidecalls[i].Why = by.At, why
}

// applyCall applies an event of an agent's call.
func (s *State) applyCall(ev Event) {
	switch ev := ev.(type) {
	case CallStarted:
		if a := s.Agent(ev.Agent); a != nil {
			a.startCall(ev, len(s.Notes))
		}
	case CallEnded:
		s.Usage = s.Usage.Plus(ev.Usage)
		if a := s.Agent(ev.Agent); a != nil {
			a.endCall(ev)
			s.see()
		}
	case PermissionRequested:
		if a := s.Agent(ev.Agent); a != nil {
			a.putTool(ToolRun{Call: ev.Call, ToolCall: ev.Tool, Asked: ev.Why})
			a.to(step.PhaseAskingPerson, ev.Tool.Name, ev.At)
		}
	case ContextWarned:
		if a := s.Agent(ev.Agent); a != nil {
			a.Marks.Context = ev.Context.Warning
		}
	case WentToJSON:
		if a := s.Agent(ev.Agent); a != nil {
			a.Marks.JSON = true
		}
	case Retrying:
		if a := s.Agent(ev.Agent); a != nil {
			a.restart(ev.At)
			a.Marks.Retrying, a.Marks.RetryAt = ev.Why, ev.At.Add(ev.Wait)
		}
	case FellBack:
		if a := s.Agent(ev.Agent); a != nil {
			a.restart(ev.At)
			a.Marks.Fallback = ev.To
		}
	case HeldUp:
		if a := s.Agent(ev.Agent); a != nil {
			a.to(step.PhaseWaiting, "for budget", ev.At)
			a.Marks.HeldUp = ev.Why
		}
	default:
		s.applyTool(ev)
	}
}

// see names the agents that have seen each note, in the config's order.
func (s *State) see() {
	for i := range s.Notes {
		s.Notes[i].SeenBy = []string{}
		for _, a := range s.Agents {
			if a.saw > i {
				s.Notes[i].SeenBy = append(s.Notes[i].SeenBy, a.ID)
			}
		}
	}
}

func (s *State) applyTool(ev Event) {
	switch ev := ev.(type) {
	case ToolCalled:
		a := s.Agent(ev.Agent)
		switch {
		case a == nil || a.Marks.Summarizing:
		case ev.Tool == effect.NewAnswer || ev.Tool == effect.Vote:
			a.to(step.PhaseWriting, "", ev.At)
		default:
			a.to(step.PhaseCallingTool, ev.Tool, ev.At)
		}
	case ToolStarted:
		if a := s.Agent(ev.Agent); a != nil {
			a.putTool(ToolRun{Call: ev.Call, ToolCall: ev.Tool, Began: ev.At})
			a.toTool(ev.At)
		}
	case ToolProgress:
		if a := s.Agent(ev.Agent); a != nil {
			a.progress(ev)
		}
	case ToolEnded:
		if a := s.Agent(ev.Agent); a != nil {
			a.putTool(ToolRun{Call: ev.Call, ToolCall: ev.Tool, Took: ev.Elapsed, IsOver: true})
			a.toTool(ev.At)
		}
	}
}

// applyEnd applies the end of a step, or a dismissal.
func (s *State) applyEnd(ev Event) {
	switch ev := ev.(type) {
	case Answered:
		act := s.end(ev.StepEnd, step.PhaseAnswered, ev.Label)
		act.Label, act.Void = ev.Label, ev.Void
		a := s.Agent(ev.Agent)
		a.keepAnswer(ev.Content)
		if ev.Void != "" {
			a.takeBack(ev.Void)
			a.to(step.PhaseLate, "", ev.At)
			if act.Phase = step.PhaseLate; a.Phase == step.PhaseLate {
				a.Doing = "answered too late"
			}
		} else {
			s.voidVotes(act)
		}
	case Voted:
		act := s.end(ev.StepEnd, step.PhaseVoted, ev.Label)
		act.Label, act.Reason, act.Void = ev.Label, ev.Reason, ev.Void
		a := s.Agent(ev.Agent)
		a.keepVote(ev.Label, ev.Reason, ev.Void)
		if ev.Void != "" && a.Phase == step.PhaseVoted {
			a.Doing = "void vote for " + a.Detail
		}
	case Abstained:
		s.end(ev.StepEnd, step.PhaseAbstained, ev.Reason).Reason = ev.Reason
		s.Agent(ev.Agent).takeBackActs("it was refused")
	case Failed:
		s.end(ev.StepEnd, step.PhaseFailed, ev.Reason).Reason = ev.Reason
	case Cancelled:
		s.end(ev.StepEnd, step.PhaseCancelled, "")
	case Presented:
		s.end(ev.StepEnd, step.PhaseAnswered, "").Final = true
		a := s.Agent(ev.Agent)
		a.keepAnswer("")
		if a.Phase == step.PhaseAnswered {
			a.Doing = "presented"
		}
	case Consulted:
		act := s.end(ev.StepEnd, step.PhaseJudged, ev.Label)
		act.Label, act.Reason = ev.Label, ev.Why
		if ev.Analysis != nil {
			s.Analysis = ev.Analysis
		}
		if ev.Review != nil && !ev.Same {
			s.startOver()
		}
		if a := s.Agent(ev.Agent); ev.Why != "" && a.Phase == step.PhaseJudged {
			a.Doing = fmt.Sprintf("its %s came to nothing", ev.Purpose)
		}
	case Dismissed:
		if a := s.Agent(ev.Agent); a != nil {
			a.to(step.PhaseDismissed, "", ev.At)
		}
		s.Acts = append(s.Acts, Act{At: ev.At, Agent: ev.Agent, Phase: step.PhaseDismissed})
	}
}

// end ends a step of an agent, which it adds if it is unknown, and returns the act.
func (s *State) end(of StepEnd, phase step.Phase, detail string) *Act {
	a := s.Agent(of.Agent)
	if a == nil {
		a = s.add(of.Agent)
	}
	s.Acts = append(s.Acts, Act{At: of.At, Agent: of.Agent, Round: of.Round, Phase: phase, Elapsed: of.Elapsed, Usage: of.Usage})
	a.Took, a.Streamed, a.Usage = of.Elapsed, 0, a.before.Plus(of.Usage)
	a.before = a.Usage
	a.Marks.Retrying, a.Marks.RetryAt, a.Marks.HeldUp, a.Marks.Summarizing = "", time.Time{}, "", false
	a.to(phase, detail, of.At)
	return &s.Acts[len(s.Acts)-1]
}

// voidVotes voids the votes before a new answer: they did not see it.
func (s *State) voidVotes(answer *Act) {
	for i := range s.Acts {
		if v := &s.Acts[i]; v.Phase == step.PhaseVoted && v.Void == "" && v != answer {
			v.Void = "a newer answer was accepted"
		}
	}
}

// to changes the phase of an agent. Nothing changes the phase of a dismissed agent.
func (a *AgentState) to(phase step.Phase, detail string, at time.Time) {
	detail = plain.Line(detail)
	if a.Phase == step.PhaseDismissed || a.Phase == phase && a.Detail == detail {
		return
	}
	a.Phase, a.Detail, a.Doing, a.Since = phase, detail, doing(phase, detail), at
}

// doing returns a phase in words.
func doing(phase step.Phase, detail string) string {
	words := string(phase)
	switch phase {
	case step.PhaseCallingTool:
		words = "tool"
	case step.PhaseAskingPerson:
		words = "asks about"
	case step.PhaseVoted:
		words = "voted for"
	case step.PhaseAbstained, step.PhaseFailed:
		return words
	}
	return strings.TrimSpace(words + " " + detail)
}

// open begins a step.
func (a *AgentState) open(ev StepStarted) {
	heading := "round " + plain.Thousands(ev.Round)
	if ev.Purpose.IsFinalAnswer() {
		heading = "the final answer"
	}
	if len(a.Text) > 0 {
		a.put(Piece{Kind: step.PieceStep, Text: heading})
	}
	a.Round, a.Purpose, a.Began, a.Took, a.Call, a.Streamed = ev.Round, ev.Purpose, ev.At, 0, "", 0
	a.Marks = Marks{JSON: a.Marks.JSON, Context: a.Marks.Context, Checked: ev.HasSchema}
	a.to(step.PhaseWaiting, "", ev.At)
}

// startCall begins a model call whose input has so many notes.
func (a *AgentState) startCall(ev CallStarted, notes int) {
	a.takeBackActs("it was refused")
	a.restart(ev.At)
	a.Call, a.sent = ev.Call, notes
}

// restart waits for a call's first words.
func (a *AgentState) restart(at time.Time) {
	a.Streamed = 0
	a.Marks.Retrying, a.Marks.RetryAt, a.Marks.HeldUp = "", time.Time{}, ""
	a.to(step.PhaseWaiting, "", at)
}

func (a *AgentState) endCall(ev CallEnded) {
	a.Usage, a.Model, a.Streamed = a.Usage.Plus(ev.Usage), ev.Model, 0
	a.Marks.Retrying, a.Marks.RetryAt, a.Marks.HeldUp = "", time.Time{}, ""
	if ev.Why == "" {
		a.saw = a.sent
	}
}

// toTool shows the agent's newest open tool call, or that it waits for its model.
func (a *AgentState) toTool(at time.Time) {
	if !a.Phase.IsBusy() {
		return
	}
	for i := len(a.Text) - 1; i >= 0 && a.Text[i].Kind != step.PieceStep; i-- {
		switch t := a.Text[i].Tool; {
		case t == nil || t.IsOver:
		case t.Began.IsZero():
			a.to(step.PhaseAskingPerson, t.Name, at)
			return
		default:
			a.to(step.PhaseCallingTool, t.Name, at)
			return
		}
	}
	a.to(step.PhaseWaiting, "", at)
}
