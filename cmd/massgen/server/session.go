package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// session returns the session of a conversation. A new session gets the conversation's earlier
// messages as its history.
func (s *turns) session(ctx context.Context, named string, c conversation, undo *undoes) (id string, err error) {
	if named != "" {
		id, err = sessionID(ctx, named)
	} else if id = s.sequel(ctx, c, undo); id == "" {
		id = newID(ctx)
		if user := userOf(c.system); user != "" && !callerOf(ctx).owns {
			id = sessionOfUser(user, id)
		}
	}
	if err != nil {
		return id, err
	}
	_, err = s.store.Session(ctx, id)
	if !errors.Is(err, sessions.ErrNoSession) {
		return id, err
	}
	undo.add(s.deleting(id, len(c.history)))
	if len(c.history) == 0 {
		return id, nil
	}
	return id, s.keepHistory(ctx, id, c.history)
}

// undoes take back what a request has changed before it was refused.
type undoes []func(ctx context.Context) error

func (u *undoes) add(undo func(ctx context.Context) error) { *u = append(*u, undo) }

// all takes everything back, the last change first. The client gets its refusal, and the log what went wrong here.
func (u undoes) all(ctx context.Context, log *slog.Logger) {
	for _, undo := range slices.Backward(u) {
		if err := undo(ctx); err != nil {
			log.Error("a refused request has left something behind", "error", err)
		}
	}
}

// deleting returns the deletion of a session that a request has made with a number of turns. It keeps a session in which
// another request has asked meanwhile.
func (s *turns) deleting(id string, turns int) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		kept, err := s.store.Session(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrNoSession), err == nil && kept.Turns != turns:
			return nil
		case err != nil:
			return err
		}
		if err := s.store.Delete(ctx, id); !errors.Is(err, sessions.ErrBusy) {
			return err
		}
		return nil
	}
}

// sequel returns the session of the same user whose whole history this is, "" if none is known.
func (s *turns) sequel(ctx context.Context, c conversation, undo *undoes) string {
	known := s.sequences.take(callerOf(ctx), userOf(c.system), c.history)
	if known.session == "" {
		return ""
	}
	kept, err := s.store.Session(ctx, known.session)
	if err != nil || kept.Turns != known.turns { // it has gone on by its name, or from a response
		return ""
	}
	undo.add(func(context.Context) error {
		s.sequences.keep(known, keyOf(callerOf(ctx), userOf(c.system), c.history))
		return nil
	})
	return known.session
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

// mostUser is the length of the longest user's name in an id, in bytes.
const mostUser = 64

// sessionOfUser returns the id of a new session of a user, in the form of seed 002. The user's facts
// go by it. A name that cannot be part of an id leaves the id as it is.
func sessionOfUser(user, id string) string {
	if len(user) > mostUser || strings.Contains(user, "|") || sessions.CheckID(user) != nil {
		return id
	}
	return user + "|massgen_" + user + "|id:" + id
}

// clientName is the winner of the turns that a client has brought along.
const clientName = "assistant"

// keepHistory begins a session with the turns that a client has brought along.
func (s *turns) keepHistory(ctx context.Context, id string, history []exchange) error {
	dump, err := s.dumpOf(id, history)
	if err == nil {
		_, err = s.store.Import(ctx, dump, "")
	}
	if err != nil {
		return fmt.Errorf("keep the history of a request: %w", err)
	}
	return nil
}

// dumpOf returns a session with the turns of a history, in the form that Import reads.
func (s *turns) dumpOf(id string, history []exchange) (*bytes.Buffer, error) {
	now := time.Now()
	d := sessions.Dump{
		Session:  sessions.Session{ID: id, Title: sessions.TitleOf(s.respond.redact(history[0].asked())), Created: now, Updated: now},
		Journals: make([][][]byte, len(history)),
	}
	var last blob.Ref
	for i, e := range history {
		t := sessions.Turn{
			Number: i + 1, Question: s.respond.redact(e.asked()), Answer: s.respond.redact(e.answer), Winner: clientName,
			Status: kernel.Completed, Started: now, Ended: now, MessageCount: 2,
		}
		link, err := sessions.Link{
			Previous: last, Turn: t.Number, Question: sessions.RefOf([]byte(t.Question)), Answer: sessions.RefOf([]byte(t.Answer)),
		}.Encode()
		if err != nil {
			return nil, err
		}
		last = sessions.RefOf(link)
		t.Link = last
		d.Turns = append(d.Turns, t)
	}
	var dump bytes.Buffer
	return &dump, d.Write(&dump)
}

// branch makes the session of a request, which ends with the turn before. A request with a key may
// have made the branch earlier and then begun no turn.
func (s *turns) branch(ctx context.Context, before place, q request, undo *undoes) error {
	_, err := s.store.Branch(ctx, before.session, before.turn, q.session)
	if err == nil {
		undo.add(s.deleting(q.session, before.turn))
	}
	if q.once == nil || !errors.Is(err, sessions.ErrExists) {
		return err
	}
	last, own, ownErr := storedTurn(ctx, s.store, place{q.session, before.turn})
	from, _, fromErr := storedTurn(ctx, s.store, before)
	if last != nil && from != nil && own.Turns == before.turn && last.Link == from.Link {
		return nil
	}
	return errors.Join(err, ownErr, fromErr)
}

// acceptSystem passes on the page that the system messages of a request describe to the session's
// topic.
func acceptSystem(ctx context.Context, panel *massgen.Panel, session string, system []string, undo *undoes) error {
	if len(system) == 0 {
		return nil
	}
	state, err := panel.Topic(ctx, session)
	if err != nil {
		return err
	}
	before := state
	state.AcceptSystem(system...)
	undo.add(func(ctx context.Context) error {
		now, err := panel.Topic(ctx, session)
		if err != nil || !reflect.DeepEqual(now, state) { // the turn that runs has changed it
			return err
		}
		return panel.SetTopic(ctx, session, before)
	})
	return panel.SetTopic(ctx, session, state)
}

// sessionHeader names the session of a response.
const sessionHeader = "Massgen-Session-Id"

func nameSession(w http.ResponseWriter, r *run) {
	w.Header().Set(sessionHeader, headerValue(r.place().session))
}

// headerValue returns a text without the characters that a header cannot have.
func headerValue(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
