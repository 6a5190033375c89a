package server

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/sessions"
)

// turnPlace names a turn of a session, and the model that plays it.
type turnPlace struct {
	model   string
	session string
	number  int
}

// pastTurn is a turn as its session has it.
type pastTurn struct {
	session string
	sessions.Turn
	record report.Record
}

// isRunning says that another process is at work on the turn.
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

// outcome is how the turn ended.
func (p *pastTurn) outcome() outcome {
	o := outcome{Result: massgen.Result{
		SessionID: p.session, Turn: p.Number, Question: p.Question, Status: p.Status, Winner: p.Winner, Answer: p.Answer, Usage: p.Usage,
		Citations: p.record.Citations,
	}}
	if p.Answer == "" {
		o.err = failure(o.Result)
	}
	return o
}

// finder finds turns that were begun before.
type finder struct{ server *Server }

// find returns the run of a turn, nil if there is no such turn. A turn that a lost process has left
// goes on, and its client may send the results of its tools.
func (f finder) find(ctx context.Context, p turnPlace) (*run, error) {
	if !f.server.mayUse(ctx, p.session) {
		return nil, nil
	}
	if r := f.server.runs.find(p.session, p.number); r != nil {
		return r, nil
	}
	kept, _, err := f.turn(ctx, p.session, p.number)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	if err != nil || kept == nil {
		return nil, err
	}
	if kept.Status == sessions.Running {
		r, err := f.goOn(ctx, p)
		if !errors.Is(err, sessions.ErrBusy) {
			return r, err
		}
		if r := f.server.runs.find(p.session, p.number); r != nil { // another request was faster
			return r, nil
		}
	}
	past := &pastTurn{session: p.session, Turn: *kept}
	if past.record, err = coordinator.ReadRecord(ctx, f.server.Store, p.session, p.number); err != nil {
		f.server.Log.Warn("not all of a turn can be read", "error", err)
	}
	return &run{past: past, model: p.model, agents: len(past.record.StepStates), began: kept.Started, calls: newClientCalls()}, nil
}

// turn returns a turn as its session has it, nil if there is none, and the session, whose error is
// sessions.ErrNoSession where there is none.
func (f finder) turn(ctx context.Context, session string, number int) (*sessions.Turn, sessions.Session, error) {
	kept, err := f.server.Store.Session(ctx, session)
	if err != nil || kept.Turns < number {
		return nil, kept, err
	}
	last, err := f.server.Store.Turns(ctx, session, kept.Turns-number+1)
	if i := slices.IndexFunc(last, func(t sessions.Turn) bool { return t.Number == number }); i >= 0 {
		return &last[i], kept, err
	}
	return nil, kept, err
}

// goOn goes on with the turn that a lost process has left in a session.
func (f finder) goOn(ctx context.Context, p turnPlace) (*run, error) {
	m, err := f.server.model(p.model)
	if err != nil {
		return nil, err
	}
	tools, err := f.server.toolsOf(ctx, p.session, p.number)
	if err != nil {
		return nil, err
	}
	r, err := f.server.proceed(ctx, m, p.session, tools, nil)
	if err == nil && len(tools) > 0 {
		r.await(r.newView())
	}
	return r, err
}
