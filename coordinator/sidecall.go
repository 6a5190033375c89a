package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// SidecallModel is a model for sidecalls (DESIGN §1).
type SidecallModel struct {
	Backend backends.Backend
	Model   string
	Params  backends.Params
}

func (m SidecallModel) member() agents.Member {
	return agents.Member{Backend: m.Backend, Headers: m.Params.Headers, ExtraBody: m.Params.ExtraBody}
}

// Sidecall is a call that belongs to no agent and that the panel makes for its user, once in a
// turn: before round 1 for Options.Topic, after the winner is committed for Options.Facts. Its
// functions may run for turns of several sessions at once. If the call or its reply fails, the
// turn goes on without it, with a warning. Before round 1 an error of Ask refuses the turn, and
// one of Keep ends it without an answer.
type Sidecall struct {
	SidecallModel
	// Ask returns the input of the call; no messages mean that no call is needed.
	Ask func(ctx context.Context, t SidecallTurn) (messages []backends.Message, tools []backends.Tool, err error)
	// Read reads the reply. It has no side effect: after a kill it may be called again.
	Read func(ctx context.Context, t SidecallTurn, reply backends.Message) (SidecallReply, error)
	// Keep stores data that Read returned. It is called when the reply is in the journal, and
	// once more for a resumed turn. With Options.Remote it is called in the process that plays
	// the turn, to store the data, and in those that watch it, to publish it. Ask and Read are
	// called only in the process that plays it.
	Keep func(ctx context.Context, session string, kept []byte) error
}

// SidecallTurn is the turn of a sidecall. It has no answer before round 1.
type SidecallTurn struct{ Session, Question, Answer string }

// SidecallReply is the content of a reply. Zero fields change nothing.
type SidecallReply struct {
	// Question replaces the question that the agents get, and Sections the texts of
	// Options.Sections.
	Question string
	Sections []string
	Kept     []byte
}

// sidecallLimit is the longest time that a sidecall may delay a turn.
const sidecallLimit = 2 * time.Minute

func (s *Sidecall) check(name string) error {
	if s != nil && (s.Backend == nil || s.Ask == nil || s.Read == nil || s.Keep == nil) {
		return fmt.Errorf("%s: a sidecall needs a backend and all of its functions", name)
	}
	return nil
}

// describeSidecall stores the input of a sidecall; ok is false if no call is needed.
func (p *Panel) describeSidecall(ctx context.Context, purpose effect.Purpose, s *Sidecall, t SidecallTurn) (described effect.Sidecall, ok bool, err error) {
	if s == nil {
		return effect.Sidecall{}, false, nil
	}
	messages, tools, err := s.Ask(ctx, t)
	if err == nil && len(messages) > 0 {
		described, err = agents.DescribeSidecall(ctx, p.opts.Store, purpose, s.Model, s.Params, messages, tools)
	}
	if err != nil {
		return described, false, fmt.Errorf("ask for the %s: %w", purpose, err)
	}
	return described, len(messages) > 0, nil
}

// reader returns the reader of a sidecall's replies.
func (p *Panel) reader(s *Sidecall, answer string) agents.Sidecall {
	store := p.opts.Store
	read := func(ctx context.Context, t *effect.Turn, _ effect.Sidecall, reply backends.Message) (change effect.Change, err error) {
		question, err := store.Get(ctx, t.Question)
		if err != nil {
			return change, err
		}
		read, err := s.Read(ctx, SidecallTurn{t.Session, string(question), answer}, reply)
		if err != nil {
			return change, err
		}
		if read.Question != "" {
			if change.Question, err = store.Put(ctx, []byte(read.Question)); err != nil {
				return change, err
			}
		}
		if read.Sections != nil {
			if change.Sections, err = agents.PutJSON(ctx, store, read.Sections); err != nil {
				return change, err
			}
		}
		if len(read.Kept) > 0 {
			change.Kept, err = store.Put(ctx, read.Kept)
		}
		return change, err
	}
	return agents.Sidecall{Member: s.member(), Read: read}
}

// sidecalls returns the makers of the calls before round 1.
func (p *Panel) sidecalls(s *summaryReader) map[effect.Purpose]agents.Sidecall {
	list := map[effect.Purpose]agents.Sidecall{}
	if p.opts.Topic != nil {
		list[effect.TopicDetection] = p.reader(p.opts.Topic, "")
	}
	if reader, ok := (attachments{&p.opts}).reader(); ok {
		list[effect.FileDescription] = reader
	}
	if p.opts.Summarizer != nil {
		list[effect.Summarizing] = agents.Sidecall{Member: p.opts.Summarizer.member(), Read: s.read}
	}
	return list
}

// keep passes a sidecall's result to Keep. The turn has the result already, so a failure costs
// no answer.
func (v *view) keep(ev turn.Event) {
	done, ok := ev.(turn.ModelDone)
	if !ok || done.Key.Agent != effect.NoAgent || done.Reply.Failure != nil || done.Reply.Change.Kept == (blob.Ref{}) {
		return
	}
	purpose := done.Key.Purpose
	kept, err := v.panel.opts.Store.Get(v.base, done.Reply.Change.Kept)
	if err == nil {
		name, keep := v.keeper(purpose)
		err = guarded(name, func() error { return keep(v.base, v.turn.session, kept) })
	}
	if err != nil {
		lost := turn.SidecallOutcome{Purpose: purpose, Failure: fmt.Sprintf("it could not be kept: %v", err)}
		v.unjournaled.Unkept = append(v.unjournaled.Unkept, lost)
		v.turn.events.add(report.SidecallFailed{Purpose: purpose, Why: lost.Failure})
	}
}

// keeper returns the function that stores a sidecall's result, and its name in errors.
func (v *view) keeper(purpose effect.Purpose) (name string, keep func(context.Context, string, []byte) error) {
	opts := v.panel.opts
	name = "Sidecall.Keep"
	switch {
	case purpose == effect.Summarizing:
		return "storing the summary", v.keepSummary
	case purpose == effect.TopicDetection && opts.Topic != nil:
		return name, opts.Topic.Keep
	case purpose == effect.FactExtraction && opts.Facts != nil:
		return name, opts.Facts.Keep
	}
	return name, func(context.Context, string, []byte) error { return nil } // the client is gone
}

// following returns the sidecalls that follow a winner. An interrupted turn has none: a person
// who interrupts does not want to wait.
func (v *view) following(turn sessions.Ended) []effect.Sidecall {
	facts := v.panel.opts.Facts
	if facts == nil || turn.Winner == "" || turn.Status == kernel.Cut {
		return nil
	}
	about := SidecallTurn{v.turn.session, cmp.Or(turn.Question, v.turn.question), turn.Answer}
	var sidecall effect.Sidecall
	var ok bool
	err := guarded("Sidecall.Ask", func() (err error) {
		sidecall, ok, err = v.panel.describeSidecall(v.base, effect.FactExtraction, facts, about)
		return err
	})
	if err != nil {
		v.turn.events.add(report.SidecallFailed{Purpose: effect.FactExtraction, Why: err.Error()})
	}
	if err != nil || !ok {
		return nil
	}
	return []effect.Sidecall{sidecall}
}

// follow begins the calls that follow the committed winner. The result is out already, so failures
// become events.
func (e *localTurn) follow(list []effect.Sidecall) stage {
	e.Begin(effect.NoAgent) // the sidecalls before round 1 had their own step
	e.doer.SetSidecall(effect.FactExtraction, e.panel.reader(e.panel.opts.Facts, e.turn.result.Answer))
	err := e.take(turn.Committed{At: e.Now(), Sidecalls: list})
	if err != nil {
		return e.followed(err)
	}
	e.launchNow() // nobody who waits for the result waits for these
	return e.followed
}

// followed is the stage after those calls. It releases the session.
func (e *localTurn) followed(err error) stage {
	err = errors.Join(err, e.recordSpent(), e.finish())
	if err == nil {
		_, err = e.sessionUpdate() // the result is out and does not change
	}
	if err != nil {
		e.turn.events.add(report.SidecallFailed{Why: err.Error()})
	}
	return e.closed
}
