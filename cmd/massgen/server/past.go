package server

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/sessions"
)

// place is a turn of a session.
type place struct {
	session string
	turn    int
}

// turnPlace is a turn and the model that plays it.
type turnPlace struct {
	place
	model string
}

// pastTurn is a turn as its session stores it.
type pastTurn struct {
	session string
	sessions.Turn
	record report.Record
}

// isRunning reports whether another process is at work on the turn.
func (p *pastTurn) isRunning() bool { return p.Status == sessions.Running }

// events yields the answers and votes of the turn as if they came now.
func (p *pastTurn) events() iter.Seq[massgen.Event] {
	return func(yield func(massgen.Event) bool) {
		by := func(agent string) report.StepEnd { return report.StepEnd{Actor: report.Actor{Agent: agent}} }
		for _, a := range p.record.Answers {
			if !yield(report.Answered{StepEnd: by(a.Agent), Label: a.Label, Content: a.Content}) {
				return
			}
		}
		for _, v := range slices.Concat(p.record.Votes, p.record.VoidVotes) {
			if !yield(report.Voted{StepEnd: by(v.Voter), Label: v.Label, Reason: v.Reason, Void: v.Void}) {
				return
			}
		}
	}
}

// outcome returns how the turn ended.
func (p *pastTurn) outcome() outcome {
	o := outcome{Result: massgen.Result{
		SessionID: p.session, Turn: p.Number, Question: p.Question, Status: p.Status, Winner: p.Winner, Answer: p.Answer, Usage: p.Usage,
		Citations: p.record.Citations, Decision: p.record.Decision,
	}}
	if p.Answer == "" {
		o.err = failure(o.Result)
	}
	return o
}

// storedTurn returns a turn as its session stores it, nil if there is none, and the session. The
// error is sessions.ErrNoSession if there is no session.
func storedTurn(ctx context.Context, store *sessions.Store, at place) (*sessions.Turn, sessions.Session, error) {
	kept, err := store.Session(ctx, at.session)
	if err != nil || kept.Turns < at.turn {
		return nil, kept, err
	}
	last, err := store.Turns(ctx, at.session, kept.Turns-at.turn+1)
	if i := slices.IndexFunc(last, func(t sessions.Turn) bool { return t.Number == at.turn }); i >= 0 {
		return &last[i], kept, err
	}
	return nil, kept, err
}

// find returns the run of a turn that was begun before, nil if there is no such turn. It goes on with
// a turn that a lost process left, whose client may send the results of its tools.
func (s *turns) find(ctx context.Context, p turnPlace) (*run, error) {
	if !mayUse(ctx, p.session) {
		return nil, nil
	}
	if r := s.runs.find(p.place); r != nil {
		return r, nil
	}
	kept, _, err := storedTurn(ctx, s.store, p.place)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	if err != nil || kept == nil {
		return nil, err
	}
	if kept.Status == sessions.Running {
		r, err := s.takeUp(ctx, p)
		if !errors.Is(err, sessions.ErrBusy) {
			return r, err
		}
		if r := s.runs.find(p.place); r != nil { // another request was faster
			return r, nil
		}
	}
	past := &pastTurn{session: p.session, Turn: *kept}
	if past.record, err = coordinator.ReadRecord(ctx, s.store, p.session, p.turn); err != nil {
		s.respond.log.Warn("not all of a turn can be read", "error", err)
	}
	return &run{past: past, model: p.model, agents: len(past.record.StepStates), began: kept.Started, calls: newClientCalls()}, nil
}

// takeUp goes on with a turn that a lost process left, and waits for its client.
func (s *turns) takeUp(ctx context.Context, p turnPlace) (*run, error) {
	m, err := s.models.find(p.model)
	if err != nil {
		return nil, err
	}
	tools, err := s.toolsOf(ctx, p.place)
	if err != nil {
		return nil, err
	}
	r, err := s.proceed(ctx, m, p.session, tools, toolReply{})
	if err == nil && len(tools) > 0 {
		r.await(r.newView(s.respond.redact))
	}
	return r, err
}

// toolsOf returns the tools of its client that a turn was begun with.
func (s *turns) toolsOf(ctx context.Context, at place) (list []toolDefinition, err error) {
	kept, err := inspect.ForwardedTools(ctx, s.store, at.session, at.turn)
	for _, t := range kept {
		list = append(list, toolDefinition{t.Name, t.Description, t.Schema})
	}
	return list, err
}
