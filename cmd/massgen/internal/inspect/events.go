package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// Projection is a turn as its journal has it so far, in whichever process it runs. One goroutine owns it.
type Projection struct {
	source  coordinator.Recording
	session string
	turn    int
	report  *report.Report
	read    int // events of the journal that were applied
	began   time.Time
	last    time.Time
}

// NewProjection returns the projection of a turn, before its first event.
func NewProjection(ctx context.Context, r coordinator.Recording, session string, number int) *Projection {
	return &Projection{
		source: r, session: session, turn: number,
		report: report.New(new(turn.Machine), report.Source{Session: session, Turn: number, Texts: agents.LookupIn(ctx, r)}),
	}
}

// Next reads the new part of the journal and returns its events, with times of the turn's clock. A branch
// has no journal of the turns before it, and so no events. Beside an error it returns the events before
// the unreadable one.
func (p *Projection) Next(ctx context.Context) (told []report.Event, err error) {
	journal, err := p.source.Journal(ctx, p.session, p.turn, p.read)
	if err != nil {
		return nil, err
	}
	defer func() { // a damaged import may break the machine
		if fault := recover(); fault != nil {
			err = fmt.Errorf("turn %d of session %s, event %d of its journal: the machine panicked: %v", p.turn, p.session, p.read+1, fault)
		}
	}()
	for _, data := range journal {
		ev, err := turn.Decode(data)
		var commands []turn.Command
		if err == nil {
			commands, err = p.report.Machine().Apply(ev)
		}
		if err != nil {
			return told, fmt.Errorf("turn %d of session %s, event %d of its journal: %w", p.turn, p.session, p.read+1, err)
		}
		p.read++
		p.last = time.UnixMilli(int64(ev.When())).UTC()
		if p.read == 1 {
			p.began = p.last
		}
		for _, t := range p.report.Apply(ev, commands) {
			told = append(told, report.Stamp(t, p.last, false))
		}
	}
	return told, nil
}

// Agents returns the ids of the turn's agents in the config's order, nil before the turn's first event.
func (p *Projection) Agents() (ids []string) {
	if m := p.report.Machine(); m.Begun() {
		for _, a := range m.Turn().Agents {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// State returns the state of a turn by its journal, with all of its sentences. It is empty for a turn that a branch
// shares with its session. Beside an
// error it has the readable part. Mask hides secrets.
func State(ctx context.Context, r coordinator.Recording, session string, number int, mask func(text string) string) (*report.State, error) {
	p := NewProjection(ctx, r, session, number)
	events, err := p.Next(ctx)
	s := report.NewState(p.Agents()...)
	s.KeepsNews, s.Mask = true, mask
	for _, ev := range events {
		s.Apply(ev)
	}
	return s, err
}

// Ended returns the event that ends a turn which the store has ended.
func (p *Projection) Ended(kept sessions.Turn) report.Event {
	at := kept.Ended
	if at.IsZero() {
		at = p.last
	}
	return report.Stamp(report.Ended{Status: kept.Status, Elapsed: at.Sub(kept.Started), Usage: report.Rounded(kept.Usage)}, at, false)
}

// Result returns the result of a turn in the form of --json, from the store and the turn's journal. A
// running turn has the status running and its results so far. The result lacks facts that the journal does
// not have, such as the providers of models.
func Result(ctx context.Context, r coordinator.Recording, session sessions.Session, kept sessions.Turn) (report.Result, error) {
	p := NewProjection(ctx, r, session.ID, kept.Number)
	_, damage := p.Next(ctx)
	var duration time.Duration
	if !kept.Ended.IsZero() {
		duration = kept.Ended.Sub(kept.Started)
	}
	result, err := p.report.Result(report.Unjournaled{Duration: duration})
	result.SessionID, result.Turn, result.Question, result.Status = session.ID, kept.Number, kept.Question, kept.Status
	result.Winner, result.Answer = kept.Winner, kept.Answer
	if !p.report.Machine().Begun() { // a branch has only this
		result.Answers, result.Votes, result.VoidVotes = []report.ResultAnswer{}, []report.ResultVote{}, []report.ResultVote{}
		result.Agents, result.Failed, result.Warnings = []report.ResultAgent{}, []report.FailedAgent{}, []string{}
		result.ContextWarnings = []report.AgentContextWarning{}
		result.Activity = report.Activity{ToolCalls: []report.ResultToolCall{}, Partials: []report.PartialText{}, Notes: []report.ResultNote{}}
		result.Usage, result.DurationMS = report.Rounded(kept.Usage), duration.Milliseconds()
	}
	result.Session = &report.SessionUpdate{SessionID: session.ID, MessageCount: session.Messages, UsageTotal: report.Rounded(session.Usage)}
	return result, errors.Join(damage, err)
}
