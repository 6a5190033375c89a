package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/system/logs"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/tools/schema"
	"github.com/massgen/massgen/sessions"
)

// request is a question to a model, from any of the routes, or the results of the tools that its
// client was asked to run.
type request struct {
	model string
	// session is the id of an existing session, "" for one that the server chooses.
	session  string
	messages []message
	tools    []toolDefinition
	// search is the field that asks the agents to search the web, "" if none does.
	search     string
	background bool
	// schema is the schema of the answer, nil for any text.
	schema *schema.Schema
	// previous is the turn after which the question comes, nil if the request names none. branches
	// makes the session of the request a branch that begins with it.
	previous *turnPlace
	branches bool
	// once is nil without an Idempotency-Key.
	once *onceKey
	// said is the part of the request that its session keeps, nil for nothing.
	said *asking
}

// turns begins turns and goes on with them.
type turns struct {
	respond   responder
	store     *sessions.Store
	models    *models
	runs      *runs
	limiter   *limiter
	metrics   tally
	sequences *sequences
	askings   *askings
	// playedElsewhere reports that other processes play the turns.
	playedElsewhere bool
}

// start begins the turn of a request, or goes on with it. The turn ends with ctx, unless the
// request wants it to go on in the background.
func (s *turns) start(ctx context.Context, q request) (*run, *view, error) {
	m, err := s.models.find(q.model)
	if err != nil {
		return nil, nil, err
	}
	r, v, err := s.goOnOrBegin(ctx, m, q)
	if err != nil {
		return nil, nil, err
	}
	if !q.background {
		r.cancelWith(ctx)
	}
	if v == nil {
		v = r.newView(s.respond.redact)
	}
	return r, v, nil
}

// goOnOrBegin goes on with the turn that a request replies to, or begins a turn.
func (s *turns) goOnOrBegin(ctx context.Context, m *model, q request) (*run, *view, error) {
	reply, isReply, err := s.replyOf(ctx, q)
	switch {
	case err != nil:
		return nil, nil, err
	case isReply:
		r, v, err := s.goOn(ctx, m, reply)
		// After the turn the user's text is a new question. A request with a key gets the turn's answer.
		isQuestion := reply.isWhole && reply.text != "" && q.once == nil
		if !isOver(err) || !isQuestion {
			return r, v, err
		}
	case reply.at.session != "":
		if err := s.abandon(ctx, reply.at); err != nil && !isOver(err) {
			return nil, nil, err
		}
	}
	r, err := s.beginAfter(ctx, m, q)
	return r, nil, err
}

// beginAfter begins a turn after the one that the request names. If the session has gone on since,
// or does so now, the turn begins in a branch of it.
func (s *turns) beginAfter(ctx context.Context, m *model, q request) (*run, error) {
	if q.previous == nil {
		return s.begin(ctx, m, q)
	}
	before := q.previous.place
	isLast, err := s.askings.checkPrevious(ctx, before, q.session)
	if err != nil {
		return nil, err
	}
	if isLast {
		q.session = before.session
		if r, err := s.begin(ctx, m, q); !errors.Is(err, sessions.ErrBusy) {
			return r, err
		}
	}
	q.session = newID(ctx)
	if q.once != nil {
		if q.session, err = sessionID(ctx, q.sessionOfKey(ctx)); err != nil {
			return nil, err
		}
	}
	q.branches = true
	return s.begin(ctx, m, q)
}

// begin begins a turn.
func (s *turns) begin(ctx context.Context, m *model, q request) (*run, error) {
	c, err := converse(q.messages)
	if err != nil {
		return nil, err
	}
	question := c.open.asked()
	if err := coordinator.CheckQuestion(question); err != nil {
		return nil, badRequest("messages", "messages: "+err.Error())
	}
	if q.schema != nil && s.playedElsewhere {
		return nil, badRequest("response_format", "response_format: the turns of this server are played by workers, whose answers are texts")
	}
	with, calls, err := s.withTools(ctx, q.tools)
	if err != nil {
		return nil, err
	}
	with = schema.With(with, q.schema)
	if !q.background {
		var accepted func()
		with, accepted = untilAccepted(with, ctx)
		defer accepted()
	}
	var id string
	return s.track(ctx, m, s.limiter, func() (r *run, err error) {
		var undo undoes
		defer func() {
			if err != nil {
				undo.all(context.WithoutCancel(ctx), s.respond.log)
			}
		}()
		if q.branches { // after the check of the limits
			if err := s.branch(ctx, q.previous.place, q, &undo); err != nil {
				return nil, err
			}
		}
		if id, err = s.session(ctx, q.session, c, &undo); err != nil {
			return nil, err
		}
		if err := s.runs.awaitFollowing(ctx, id); err != nil {
			return nil, err
		}
		return m.with(ctx, id, func(panel *massgen.Panel) (*run, error) {
			if err := acceptSystem(ctx, panel, id, c.system, &undo); err != nil {
				return nil, err
			}
			with := topic.WithClient(attach.With(with, c.files), s.respond.redact(strings.Join(c.system, "\n\n")))
			with, err := s.withSearch(with, q, panel)
			if err != nil {
				return nil, err
			}
			turn, err := s.ask(with, panel, id, question, q.said)
			if err != nil {
				return nil, refusalOfBegin(err)
			}
			return newRun(turn, m, panel, calls), nil
		})
	}, func(result massgen.Result) {
		if q.session == "" && result.Answer != "" {
			s.sequences.keep(sequence{id, result.Turn}, keyOf(callerOf(ctx), userOf(c.system), append(c.history, exchange{question: c.open.question, answer: result.Answer})))
		}
	})
}

// withTools returns the context of a turn whose agents may call the tools of a client, and the
// calls. The turn outlives ctx.
func (s *turns) withTools(ctx context.Context, list []toolDefinition) (context.Context, *clientCalls, error) {
	calls := newClientCalls()
	tools, err := clientTools(list, calls)
	if err != nil {
		return nil, nil, err
	}
	if len(tools) > 0 && s.playedElsewhere {
		return nil, nil, badRequest("tools", "tools: the turns of this server are played by workers, who cannot ask a client to run a tool")
	}
	return panels.WithTurnTools(context.WithoutCancel(ctx), tools), calls, nil
}

// untilAccepted returns the context of a turn, which ends with its client's until the turn is accepted: to
// make the client's pictures smaller may take long.
func untilAccepted(turn, client context.Context) (with context.Context, accepted func()) {
	with, cancel := context.WithCancel(turn)
	stop := context.AfterFunc(client, cancel)
	return with, func() { stop() }
}

// ask begins a turn. If a lost process left the same question without an answer, ask goes on with
// that turn and with all calls that have a result, unless the turn belongs to another panel.
func (s *turns) ask(ctx context.Context, panel *massgen.Panel, session, question string, said *asking) (*massgen.Turn, error) {
	left, err := s.store.Interrupted(ctx, session)
	if err != nil || len(left) == 0 || attach.Cut(left[0].Question) != s.respond.redact(question) {
		return s.askings.ask(ctx, panel, session, question, said)
	}
	turn, err := panel.Continue(ctx, session)
	var changed *coordinator.Difference
	var other *coordinator.OtherPanelError
	if errors.As(err, &changed) || errors.As(err, &other) {
		s.respond.log.Warn("a turn that was interrupted cannot go on, and is asked again", "session", session, "error", err)
		return s.askings.ask(ctx, panel, session, question, said)
	}
	if err == nil && said != nil { // so that another repetition finds it
		if err := s.askings.keep(context.WithoutCancel(ctx), place{session, turn.Number()}, *said, nil); err != nil {
			s.respond.log.Error("what a request said is not kept", "error", err)
		}
	}
	return turn, err
}

// refusalOfBegin returns the refusal of files or of tools that the panel does not accept, and other errors
// as they are.
func refusalOfBegin(err error) error {
	var files attach.RefusedError
	if errors.As(err, &files) {
		return badRequest("messages", "messages: "+files.Error())
	}
	var tools panels.TurnToolError
	if errors.As(err, &tools) {
		return badRequest("tools", "tools: "+tools.Error())
	}
	return err
}

// track starts a turn within the limits, and counts it. It calls then with the result before the
// client has it.
func (s *turns) track(ctx context.Context, m *model, limits *limiter, start func() (*run, error), then func(massgen.Result)) (*run, error) {
	leave, ok := s.runs.enter()
	defer leave()
	if !ok {
		return nil, refusal{status: http.StatusServiceUnavailable, code: "interrupted", message: "the server is ending: ask another, or ask again", retryAfter: retryLater}
	}
	done, err := limits.begin(callerOf(ctx).name)
	if err != nil {
		s.metrics.refused(err)
		s.metrics.Add(metrics.LimitWaitsTotal(), 1, "limit", limitTurns)
		s.respond.log.Warn("a limit refuses a turn", logs.Limit, limitTurns, logs.Model, m.ID, logs.Error, err)
		return nil, err
	}
	begun := false
	defer func() {
		if !begun { // also after a panic
			done(false)
		}
	}()
	r, err := start()
	if err != nil {
		return nil, err
	}
	begun = true
	s.metrics.began(m.ID)
	log := s.respond.log.With(logs.Session, r.turn.Session(), logs.Turn, r.turn.Number(), logs.Model, m.ID)
	log.Info("a turn begins")
	s.runs.add(r, func(result massgen.Result, err error) {
		done(true)
		s.metrics.ended(m.ID, time.Since(r.began), result, err)
		if err == nil {
			then(result)
		}
		r.settle() // the client gets the result now
		logEnd(log, r.began, result, err)
	}, func() {
		if r.own != nil {
			if err := r.own.Close(); err != nil {
				log.Error("a session's panel was not closed well", "error", err)
			}
		}
	})
	return r, nil
}

// The codes of refusals that say that there is too much to do.
const (
	codeRateLimit  = "rate_limit_exceeded"
	codeOverloaded = "overloaded"
)

// limitTurns are the limits of the turns of a server, in logs and metrics.
const limitTurns = "turns"

// logEnd logs the end of a turn: loudly if it was lost, or if no agent has answered.
func logEnd(log *slog.Logger, began time.Time, r massgen.Result, err error) {
	attrs := []any{logs.Status, r.Status, logs.Took, time.Since(began).Round(time.Millisecond), logs.Calls, r.Usage.Calls}
	if r.Usage.CostUSD != nil {
		attrs = append(attrs, logs.CostUSD, *r.Usage.CostUSD)
	}
	switch {
	case err != nil:
		log.Error("a turn is lost", append(attrs, logs.Error, err)...)
	case r.Status == kernel.AllFailed && len(r.Failed) > 0:
		log.Error("all agents of a turn have failed", append(attrs, logs.Agent, r.Failed[0].Agent, logs.Error, r.Failed[0].Error)...)
	default:
		log.Info("a turn has ended", attrs...)
	}
}

// goOn goes on with a turn whose client has run its tools, also with one that a lost process left.
func (s *turns) goOn(ctx context.Context, m *model, reply toolReply) (*run, *view, error) {
	at := reply.at
	if !mayUse(ctx, at.session) {
		return nil, nil, sessions.NoSession(at.session)
	}
	if r := s.runs.find(at); r != nil {
		v, free := r.takeView()
		if !free {
			return nil, nil, atWorkRefusal()
		}
		wasRunning := r.turn.Status() == coordinator.Running
		err := r.calls.check(reply.results)
		if err == nil {
			err = r.receive(context.WithoutCancel(ctx), reply)
		}
		if err == nil {
			err = r.turn.Resume(context.WithoutCancel(ctx))
			if wasRunning && errors.Is(err, driver.ErrOver) {
				err = nil // it was taken up after a kill, and not paused: the results have ended it already
			}
		}
		if err != nil {
			r.await(v)
			return nil, nil, err
		}
		return r, v, nil
	}
	left, err := s.store.Interrupted(ctx, at.session)
	if err != nil {
		return nil, nil, err
	}
	if len(left) == 0 || left[0].Number != at.turn {
		return nil, nil, overRefusal()
	}
	tools, err := s.toolsOf(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.proceed(ctx, m, at.session, tools, reply)
	return r, nil, err
}

// abandon ends the turn whose calls a request answers without it, if it waits for its client here.
func (s *turns) abandon(ctx context.Context, at place) error {
	r := s.runs.find(at)
	if r == nil {
		return nil
	}
	if _, free := r.takeView(); !free {
		return atWorkRefusal()
	}
	r.turn.Cancel()
	_, err := r.result(ctx)
	return err
}

// proceed goes on with the turn that a lost process left in a session, with tools of its client and
// what the client replies. The turn outlives ctx.
func (s *turns) proceed(ctx context.Context, m *model, session string, tools []toolDefinition, reply toolReply) (*run, error) {
	with, calls, err := s.withTools(ctx, tools)
	if err != nil {
		return nil, err
	}
	limits := s.limiter
	if s.playedElsewhere { // the server that began the turn counts it
		limits = &limiter{users: map[string]*use{}}
	}
	return s.track(ctx, m, limits, func() (*run, error) {
		return m.with(ctx, session, func(panel *massgen.Panel) (*run, error) {
			turn, err := panel.Continue(with, session)
			if err != nil {
				return nil, refusalOfBegin(err)
			}
			r := newRun(turn, m, panel, calls)
			if err := r.receive(context.WithoutCancel(ctx), reply); err != nil {
				turn.Cancel()
				return nil, err
			}
			return r, nil
		})
	}, func(massgen.Result) {})
}
