package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// phase is the current work of an agent, in the word of its column.
type phase string

const (
	waiting   phase = "waiting"
	thinking  phase = "thinking"
	writing   phase = "writing"
	usingTool phase = "tool"
	answered  phase = "answered"
	voted     phase = "voted"
	abstained phase = "abstained"
	failed    phase = "failed"
	cancelled phase = "cancelled"
	dismissed phase = "dismissed"
)

// isBusy reports whether an agent in the phase is at work.
func (p phase) isBusy() bool { return p == thinking || p == writing || p == usingTool }

// agentState is the content of one agent's column.
type agentState struct {
	id    string
	phase phase
	// detail explains the phase: the tool, the answer's label, the vote's label or the reason of a
	// failure.
	detail string
	round  int
	since  time.Time
	took   time.Duration
	usage  counts
	text   tail
	sent   int // the number of the turn's notes in the call under way
	saw    int // the number of notes in calls that came back
}

// counts are tokens and dollars. isUnknown reports that usd lacks an unknown price.
type counts struct {
	in, out   int
	usd       float64
	isUnknown bool
}

func (c *counts) add(of report.CallEnded) {
	c.in, c.out = c.in+of.Usage.InputTokens, c.out+of.Usage.OutputTokens
	if of.Usage.CostUSD == nil {
		c.isUnknown = true
		return
	}
	c.usd += *of.Usage.CostUSD
}

func (c counts) plus(other counts) counts {
	return counts{c.in + other.in, c.out + other.out, c.usd + other.usd, c.isUnknown || other.isUnknown}
}

// mark is one step's end in the strip of rounds.
type mark struct {
	agent, label string
	votedFor     string // "" for an answer
	void         bool
}

// turnState is the screen's state of a turn. It is a pure function of the turn's events.
type turnState struct {
	agents   []agentState
	rounds   [][]mark // by round, from 1
	notes    []string
	remarks  []string // newest last
	began    time.Time
	ended    time.Time
	isPaused bool
	status   string // of the result, "" while the turn runs
}

func newTurnState(ids []string, now time.Time) *turnState {
	s := &turnState{began: now}
	for _, id := range ids {
		s.agents = append(s.agents, agentState{id: id, phase: waiting, since: now})
	}
	return s
}

// isOver reports whether the turn has its result.
func (s *turnState) isOver() bool { return s.status != "" }

// elapsed returns the turn's running time.
func (s *turnState) elapsed(now time.Time) time.Duration {
	if s.isOver() {
		now = s.ended
	}
	return max(now.Sub(s.began), 0)
}

// seenBy returns the agents that have seen a note.
func (s *turnState) seenBy(note int) (ids []string) {
	for _, a := range s.agents {
		if a.saw > note {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// used returns the usage of all agents' calls so far.
func (s *turnState) used() (sum counts) {
	for _, a := range s.agents {
		sum = sum.plus(a.usage)
	}
	return sum
}

func (s *turnState) agent(id string) *agentState {
	i := slices.IndexFunc(s.agents, func(a agentState) bool { return a.id == id })
	if i < 0 { // a panel may have more agents than it said
		s.agents = append(s.agents, agentState{id: id, phase: waiting})
		i = len(s.agents) - 1
	}
	return &s.agents[i]
}

// apply applies one event.
func (s *turnState) apply(ev massgen.Event) {
	at := ev.Head().At
	switch ev := ev.(type) {
	case report.StepStarted:
		a := s.agent(ev.Agent)
		if len(a.text.list) > 0 {
			a.text.put(heading, fmt.Sprintf("── round %d", ev.Round))
		}
		*a = agentState{id: a.id, phase: thinking, round: ev.Round, since: at, usage: a.usage, sent: a.sent, saw: a.saw, text: a.text}
	case report.CallStarted:
		a := s.agent(ev.Agent)
		a.to(thinking, "", at)
		a.sent = len(s.notes)
	case report.CallEnded:
		a := s.agent(ev.Agent)
		a.usage.add(ev)
		if ev.Why == "" {
			a.saw = a.sent
		}
	case report.TextDelta:
		a := s.agent(ev.Agent)
		a.to(writing, "", at)
		a.text.add(ev.Text)
	case report.Thinking:
		a := s.agent(ev.Agent)
		a.to(thinking, "", at)
		a.text.think(ev.Text)
	case report.Dismissed:
		s.agent(ev.Agent).to(dismissed, "", at)
	case report.Noted:
		s.notes = append(s.notes, ev.Text)
	case report.Paused:
		s.isPaused = true
	case report.Unpaused:
		s.isPaused = false
	case report.Ended:
		s.status, s.ended, s.isPaused = ev.Status, at, false
	default:
		s.applyTool(ev, at)
		s.applyEnd(ev, at)
		s.applyTrouble(ev, at)
	}
}

func (a *agentState) to(p phase, detail string, at time.Time) {
	if a.phase == dismissed { // the rest of its call
		return
	}
	detail = plain.Line(detail)
	if a.phase != p || a.detail != detail {
		a.phase, a.detail = p, detail
		if !a.phase.isBusy() || a.since.IsZero() {
			a.since = at
		}
	}
}

func (s *turnState) applyTool(ev massgen.Event, at time.Time) {
	switch ev := ev.(type) {
	case report.ToolCalled:
		s.agent(ev.Agent).to(usingTool, ev.Tool, at)
	case report.ToolStarted:
		s.agent(ev.Agent).to(usingTool, ev.Tool.Name, at)
	case report.ToolEnded:
		a := s.agent(ev.Agent)
		a.to(thinking, "", at)
		call := plain.Line(ev.Tool.Name + " " + ev.Tool.Arguments)
		if ev.Tool.Error {
			call += " failed"
		}
		a.text.tool(call)
	}
}

// applyEnd applies the end of a step.
func (s *turnState) applyEnd(ev massgen.Event, at time.Time) {
	switch ev := ev.(type) {
	case report.Answered:
		s.end(ev.StepEnd, answered, ev.Label, at)
		s.agent(ev.Agent).text.answer(ev.Content)
		s.mark(ev.Round, mark{agent: ev.Agent, label: ev.Label, void: ev.Void != ""})
	case report.Voted:
		s.end(ev.StepEnd, voted, ev.Label, at)
		s.agent(ev.Agent).text.answer("for " + ev.Label + ": " + ev.Reason)
		s.mark(ev.Round, mark{agent: ev.Agent, votedFor: ev.Label, void: ev.Void != ""})
	case report.Abstained:
		s.end(ev.StepEnd, abstained, ev.Reason, at)
	case report.Failed:
		s.end(ev.StepEnd, failed, ev.Reason, at)
	case report.Cancelled:
		s.end(ev.StepEnd, cancelled, "", at)
	case report.Presented:
		s.end(ev.StepEnd, answered, "the final answer", at)
	}
}

func (s *turnState) end(of report.StepEnd, p phase, detail string, at time.Time) {
	a := s.agent(of.Agent)
	if a.phase == dismissed { // its call comes back later
		return
	}
	a.phase, a.detail, a.since, a.took = p, plain.Line(detail), at, of.Elapsed
	if a.round == 0 {
		a.round = of.Round
	}
}

func (s *turnState) mark(round int, m mark) {
	for len(s.rounds) < round {
		s.rounds = append(s.rounds, nil)
	}
	if round > 0 {
		s.rounds[round-1] = append(s.rounds[round-1], m)
	}
}

// applyTrouble applies events that a person should know about.
func (s *turnState) applyTrouble(ev massgen.Event, at time.Time) {
	switch ev := ev.(type) {
	case report.Retrying:
		s.remark("%s's call failed and is made again: %s", ev.Agent, ev.Why)
	case report.FellBack:
		s.remark("%s's call failed and goes to %s: %s", ev.Agent, ev.To, ev.Why)
	case report.HeldUp:
		s.agent(ev.Agent).to(waiting, "for budget", at)
	case report.WentToJSON:
		s.remark("%s calls no tools and is asked for JSON objects", ev.Agent)
	case report.ContextWarned:
		s.remark("the context of %s is nearly full", ev.Agent)
	case report.SidecallStarted:
		s.remark("a call for the %s is made", ev.Purpose)
	case report.SidecallFailed:
		s.remark("the call for the %s failed: %s", ev.Purpose, ev.Why)
	case report.Panicked:
		s.remark("%s's call panicked", ev.Agent)
	}
}

func (s *turnState) remark(form string, args ...any) {
	s.remarks = append(s.remarks, plain.Line(fmt.Sprintf(form, args...)))
}

// tail keeps the end of a growing text, in lines.
type tail struct {
	list    []tailLine
	size    int // its size in bytes
	dropped int // lines that were cut off its beginning
}

// tailLine is a line of a tail. Its kind decides its look.
type tailLine struct {
	kind lineKind
	text string
}

type lineKind int

const (
	said lineKind = iota
	thought
	tooled
	given
	heading
)

// mostTail is the highest size of an agent's text, enough for hours of a fast model. Each line counts
// bytesOfLine more. A line longer than longestLine bytes continues in the next line, because each new
// piece of text copies its line.
const (
	mostTail    = 4 << 20
	bytesOfLine = 32
	longestLine = 4096
)

func (t *tail) add(text string)    { t.grow(said, text) }
func (t *tail) think(text string)  { t.grow(thought, text) }
func (t *tail) tool(call string)   { t.put(tooled, "▸ "+call) }
func (t *tail) answer(text string) { t.put(given, text) }

// grow adds text to the last line if it has the same kind, else to a new line.
func (t *tail) grow(kind lineKind, text string) {
	for i, piece := range strings.Split(printable(text), "\n") {
		last := len(t.list) - 1
		if i == 0 && last >= 0 && t.list[last].kind == kind && len(t.list[last].text) < longestLine {
			t.list[last].text += piece
			t.size += len(piece)
			continue
		}
		t.append(kind, piece)
	}
	t.cut()
}

// put adds whole lines.
func (t *tail) put(kind lineKind, text string) {
	for piece := range strings.SplitSeq(printable(text), "\n") {
		t.append(kind, piece)
	}
	t.append(said, "")
	t.cut()
}

func (t *tail) append(kind lineKind, text string) {
	t.list = append(t.list, tailLine{kind, text})
	t.size += len(text) + bytesOfLine
}

// cut drops the oldest quarter of a text that is too long.
func (t *tail) cut() {
	if t.size <= mostTail {
		return
	}
	n := 0
	for ; n < len(t.list)-1 && t.size > mostTail*3/4; n++ {
		t.size -= len(t.list[n].text) + bytesOfLine
	}
	t.list = slices.Delete(t.list, 0, n)
	t.dropped += n
}

// printable returns a text of several lines without control characters.
func printable(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = plain.Line(line)
	}
	return strings.Join(lines, "\n")
}
