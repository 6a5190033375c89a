package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/tools/schema"
	"github.com/massgen/massgen/sessions"
)

// request is a question to a model, whatever form it came in, or the results of the tools that its
// client was asked to run.
type request struct {
	model string
	// session is the id of the session that goes on, "" for one that the server chooses.
	session  string
	messages []message
	tools    []toolDefinition
	// search is the field that asks the agents to search the web, "" if none does.
	search     string
	background bool
	// schema is what the answer has to fit, nil for any text.
	schema *schema.Schema
	// previous is the turn after which the question comes, nil for none in particular. branches says
	// that the session is a branch which begins with it.
	previous *turnPlace
	branches bool
	// once is nil without an Idempotency-Key.
	once *onceKey
	// said is what its session keeps of the request, nil for nothing.
	said *asking
}

// start begins the turn of a request, or goes on with it. The turn ends with ctx, unless the
// request wants it to go on in the background.
func (s *Server) start(ctx context.Context, q request) (*run, *view, error) {
	m, err := s.model(q.model)
	if err != nil {
		return nil, nil, err
	}
	results, session, turn, isResult, err := resultsOf(q.messages)
	if err != nil {
		return nil, nil, err
	}
	var r *run
	var v *view
	if isResult {
		r, v, err = s.goOn(ctx, m, session, turn, results)
	} else {
		r, err = s.beginAfter(ctx, m, q)
	}
	if err != nil {
		return nil, nil, err
	}
	if !q.background {
		r.cancelWith(ctx)
	}
	if v == nil {
		v = r.newView()
	}
	return r, v, nil
}

// begin begins a turn.
func (s *Server) begin(ctx context.Context, m *model, q request) (*run, error) {
	c, err := converse(q.messages)
	if err != nil {
		return nil, err
	}
	if err := coordinator.CheckQuestion(c.question); err != nil {
		return nil, badRequest("messages", "messages: "+err.Error())
	}
	if q.schema != nil && s.PlayedElsewhere {
		return nil, badRequest("response_format", "response_format: the turns of this server are played by workers, whose answers are texts")
	}
	with, calls, err := s.withTools(ctx, q.tools)
	if err != nil {
		return nil, err
	}
	with = schema.With(with, q.schema)
	var id string
	return s.track(ctx, m, func() (r *run, err error) {
		if q.branches { // not before a limit stands against the turn
			if err := s.branch(ctx, *q.previous, q); err != nil {
				return nil, err
			}
		}
		if id, err = s.session(ctx, q.session, c); err != nil {
			return nil, err
		}
		return m.with(ctx, id, func(panel *massgen.Panel) (*run, error) {
			if err := s.acceptSystem(ctx, panel, id, c.system); err != nil {
				return nil, err
			}
			with := topic.WithClient(attach.With(with, c.files), s.Redact(strings.Join(c.system, "\n\n")))
			with, err := withSearch(with, s, q, panel)
			if err != nil {
				return nil, err
			}
			turn, err := s.ask(with, panel, id, c.question, q.said)
			if err != nil {
				return nil, taken(err)
			}
			return newRun(turn, m.ID, len(panel.Models()), calls), nil
		})
	}, func(result massgen.Result) {
		if q.session == "" && result.Answer != "" {
			s.sequences.keep(sequence{id, result.Turn}, keyOf(callerOf(ctx), append(c.history, exchange{c.question, result.Answer})))
		}
	})
}

// ask begins a turn. A question that a lost process has left without an answer is not asked anew
// when its client sends it again: its turn goes on, with all calls that have a result.
func (s *Server) ask(ctx context.Context, panel *massgen.Panel, session, question string, said *asking) (*massgen.Turn, error) {
	left, err := s.Store.Interrupted(ctx, session)
	if err != nil || len(left) == 0 || attach.Cut(left[0].Question) != s.Redact(question) {
		return s.askings.ask(ctx, panel, session, question, said)
	}
	turn, err := panel.Continue(ctx, session)
	if changed := (*coordinator.Difference)(nil); errors.As(err, &changed) {
		s.Log.Warn("a turn that was interrupted cannot go on, and is asked again", "session", session, "error", err)
		return s.askings.ask(ctx, panel, session, question, said)
	}
	if err == nil && said != nil { // so that another repetition finds it
		if err := s.askings.keep(context.WithoutCancel(ctx), session, turn.Number(), *said, nil); err != nil {
			s.Log.Error("what a request said is not kept", "error", err)
		}
	}
	return turn, err
}

// track starts a turn, if no limit stands against it, and counts it. Then is called with its
// result, before the client has it.
func (s *Server) track(ctx context.Context, m *model, start func() (*run, error), then func(massgen.Result)) (*run, error) {
	done, err := s.limiter.begin(callerOf(ctx).name)
	if err != nil {
		s.metrics.refused(err)
		return nil, err
	}
	begun := false
	defer func() {
		if !begun { // also after a panic
			done()
		}
	}()
	r, err := start()
	if err != nil {
		return nil, err
	}
	begun = true
	s.metrics.began(m.ID)
	log := s.Log.With("session", r.turn.Session(), "turn", r.turn.Number(), "model", m.ID)
	log.Info("a turn begins")
	s.runs.add(r, func(result massgen.Result, err error) {
		done()
		s.metrics.ended(m.ID, time.Since(r.began), result, err)
		if err == nil {
			then(result)
		}
		close(r.settled) // the client gets the result now
		if r.own != nil {
			if err := r.own.Close(); err != nil {
				log.Error("a session's panel was not closed well", "error", err)
			}
		}
		log.Info("a turn has ended", "status", result.Status, "took", time.Since(r.began).Round(time.Millisecond), "calls", result.Usage.Calls, "error", err)
	})
	return r, nil
}

// goOn goes on with a turn whose client has run its tools. One that a lost process has left is
// taken up again.
func (s *Server) goOn(ctx context.Context, m *model, session string, turn int, results map[string]string) (*run, *view, error) {
	if !s.mayUse(ctx, session) {
		return nil, nil, sessions.NoSession(session)
	}
	if r := s.runs.find(session, turn); r != nil {
		v, free := r.takeView()
		if !free {
			return nil, nil, refusal{status: http.StatusConflict, code: "session_busy", message: "another request is at work on this turn"}
		}
		if err := r.calls.answer(results); err != nil {
			r.await(v)
			return nil, nil, err
		}
		if err := r.turn.Resume(context.WithoutCancel(ctx)); err != nil {
			r.await(v)
			return nil, nil, err
		}
		return r, v, nil
	}
	left, err := s.Store.Interrupted(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	if len(left) == 0 || left[0].Number != turn {
		return nil, nil, overRefusal()
	}
	tools, err := s.toolsOf(ctx, session, turn)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.proceed(ctx, m, session, tools, results)
	return r, nil, err
}

// proceed goes on with the turn that a lost process has left in a session, whatever becomes of the
// request: with tools of its client, and the results that came for their calls.
func (s *Server) proceed(ctx context.Context, m *model, session string, tools []toolDefinition, results map[string]string) (*run, error) {
	with, calls, err := s.withTools(ctx, tools)
	if err != nil {
		return nil, err
	}
	if err := calls.answer(results); err != nil {
		return nil, err
	}
	return s.track(ctx, m, func() (*run, error) {
		return m.with(ctx, session, func(panel *massgen.Panel) (*run, error) {
			turn, err := panel.Continue(with, session)
			if err != nil {
				return nil, taken(err)
			}
			return newRun(turn, m.ID, len(panel.Models()), calls), nil
		})
	}, func(massgen.Result) {})
}

// toolsOf returns the tools of its client that a turn was begun with.
func (s *Server) toolsOf(ctx context.Context, session string, turn int) (list []toolDefinition, err error) {
	kept, err := inspect.ForwardedTools(ctx, s.Store, session, turn)
	for _, t := range kept {
		list = append(list, toolDefinition{t.Name, t.Description, t.Schema})
	}
	return list, err
}

// withTools returns the context of a turn whose agents may call the tools of a client, and the
// calls. The turn outlives ctx.
func (s *Server) withTools(ctx context.Context, list []toolDefinition) (context.Context, *clientCalls, error) {
	calls := newClientCalls()
	tools, err := clientTools(list, calls)
	if err != nil {
		return nil, nil, err
	}
	if len(tools) > 0 && s.PlayedElsewhere {
		return nil, nil, badRequest("tools", "tools: the turns of this server are played by workers, who cannot ask a client to run a tool")
	}
	return panels.WithTurnTools(context.WithoutCancel(ctx), tools), calls, nil
}

// taken is the refusal of a tool whose name is an agent's.
func taken(err error) error {
	var files attach.RefusedError
	if errors.As(err, &files) {
		return badRequest("messages", "messages: "+files.Error())
	}
	var of panels.ToolNameError
	if errors.As(err, &of) {
		return badRequest("tools", "tools: "+of.Error())
	}
	return err
}

// beginAfter begins a turn after the one that the request names. Where the session has gone on since,
// or does so now, the turn begins in a branch of it.
func (s *Server) beginAfter(ctx context.Context, m *model, q request) (*run, error) {
	if q.previous == nil {
		return s.begin(ctx, m, q)
	}
	before := *q.previous
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
		if q.session, err = s.sessionID(ctx, q.sessionOfKey(ctx)); err != nil {
			return nil, err
		}
	}
	q.branches = true
	return s.begin(ctx, m, q)
}

// branch makes the session of a request, which ends with the turn before. A request with a key may have
// made it before, and then come to no turn.
func (s *Server) branch(ctx context.Context, before turnPlace, q request) error {
	_, err := s.Store.Branch(ctx, before.session, before.number, q.session)
	if q.once == nil || !errors.Is(err, sessions.ErrExists) {
		return err
	}
	last, own, ownErr := finder{s}.turn(ctx, q.session, before.number)
	from, _, fromErr := finder{s}.turn(ctx, before.session, before.number)
	if last != nil && from != nil && own.Turns == before.number && last.Link == from.Link {
		return nil
	}
	return errors.Join(err, ownErr, fromErr)
}

// session returns the session of a conversation. One that is not there gets the conversation's
// earlier messages for a history.
func (s *Server) session(ctx context.Context, named string, c conversation) (id string, err error) {
	if named != "" {
		id, err = s.sessionID(ctx, named)
	} else if id = s.sequel(ctx, c.history); id == "" {
		id = newID(ctx)
		if user := userOf(c.system); user != "" && !callerOf(ctx).owns {
			id = sessionOfUser(user, id)
		}
	}
	if err != nil || len(c.history) == 0 {
		return id, err
	}
	_, err = s.Store.Session(ctx, id)
	if !errors.Is(err, sessions.ErrNoSession) {
		return id, err
	}
	return id, s.keepHistory(ctx, id, c.history)
}

// userOf returns the user whom the system messages of a request name beside their page, "" for
// none.
func userOf(system []string) string {
	for _, text := range system {
		if page, ok := topic.ParsePage(text); ok {
			return page.User
		}
	}
	return ""
}

// mostUser is how many bytes a user's name may have to be part of an id.
const mostUser = 64

// sessionOfUser returns the id of a new session of a user, in the form of seed 002: what is
// remembered of the user goes by it. A name that cannot be part of an id leaves the id as it is.
func sessionOfUser(user, id string) string {
	if len(user) > mostUser || strings.Contains(user, "|") || sessions.CheckID(user) != nil {
		return id
	}
	return user + "|massgen_" + user + "|id:" + id
}

// clientName is the winner of the turns that a client has brought along.
const clientName = "assistant"

// keepHistory begins a session with the turns that a client has brought along.
func (s *Server) keepHistory(ctx context.Context, id string, history []exchange) error {
	now := time.Now()
	d := sessions.Dump{
		Session:  sessions.Session{ID: id, Title: sessions.TitleOf(s.Redact(history[0].question)), Created: now, Updated: now},
		Journals: make([][][]byte, len(history)),
	}
	var last blob.Ref
	for i, e := range history {
		t := sessions.Turn{
			Number: i + 1, Question: s.Redact(e.question), Answer: s.Redact(e.answer), Winner: clientName,
			Status: kernel.Completed, Started: now, Ended: now, MessageCount: 2,
		}
		link, err := sessions.Link{
			Previous: last, Turn: t.Number, Question: sessions.RefOf([]byte(t.Question)), Answer: sessions.RefOf([]byte(t.Answer)),
		}.Encode()
		if err != nil {
			return fmt.Errorf("keep the history of a request: %w", err)
		}
		last = sessions.RefOf(link)
		t.Link = last
		d.Turns = append(d.Turns, t)
	}
	var dump bytes.Buffer
	if err := d.Write(&dump); err != nil {
		return fmt.Errorf("keep the history of a request: %w", err)
	}
	if _, err := s.Store.Import(ctx, &dump, ""); err != nil {
		return fmt.Errorf("keep the history of a request: %w", err)
	}
	return nil
}

// acceptSystem takes what the system messages of a request say of the page that its user is on.
func (s *Server) acceptSystem(ctx context.Context, panel *massgen.Panel, session string, system []string) error {
	if len(system) == 0 {
		return nil
	}
	state, err := panel.Topic(ctx, session)
	if err != nil {
		return err
	}
	for _, text := range system {
		state.AcceptSystem(text)
	}
	return panel.SetTopic(ctx, session, state)
}

// sessionHeader names the session of a response.
const sessionHeader = "Massgen-Session-Id"

func nameSession(w http.ResponseWriter, r *run) {
	w.Header().Set(sessionHeader, headerValue(r.session()))
}

// headerValue is a text as a header can have it.
func headerValue(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
