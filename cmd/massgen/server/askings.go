package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/sessions"
)

// asking is the part of a request that its session keeps with the turn.
type asking struct {
	// Key and Body are a onceKey's, empty without one.
	Key  string `json:"key,omitempty"`
	Body string `json:"body,omitempty"`
	// Only requests for responses have the other fields. IsDeleted reports that the response was deleted.
	Previous     string            `json:"previous,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	IsBackground bool              `json:"background,omitempty"`
	Format       json.RawMessage   `json:"format,omitempty"` // of the answer; empty for a text
	IsDeleted    bool              `json:"deleted,omitempty"`
}

// MetaRequest begins the keys of a session's metadata that contain parts of requests. A turn's number
// follows.
const MetaRequest = "massgen:request:"

// mostAskings is the number of turns of a session whose requests are kept.
const mostAskings = 100

// askingsOf returns the parts of requests that a session keeps, by the number of the turn.
func askingsOf(s sessions.Session) map[int]asking {
	all := map[int]asking{}
	for key, value := range s.Metadata {
		text, isRequest := strings.CutPrefix(key, MetaRequest)
		number, err := strconv.Atoi(text)
		var a asking
		if isRequest && err == nil && json.Unmarshal([]byte(value), &a) == nil {
			all[number] = a
		}
	}
	return all
}

// askings keeps parts of requests with the turns that they began. It is safe for concurrent use.
type askings struct {
	store  *sessions.Store
	redact func(text string) string
	log    *slog.Logger
	locks  sessionLocks // held while a turn begins
}

// sessionLocks locks sessions one by one: a turn that begins in one session delays no other session. The
// zero sessionLocks has no locked session. It is safe for concurrent use.
type sessionLocks struct {
	mu   sync.Mutex
	held map[string]*sessionLock
}

// sessionLock is the lock of a session. It exists while somebody holds it or waits for it.
type sessionLock struct {
	taken chan struct{} // full while somebody holds the lock
	users int
}

// lock waits until it has the lock of a session, and returns the function that gives it back. The error
// is ctx's.
func (l *sessionLocks) lock(ctx context.Context, session string) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*sessionLock{}
	}
	own := l.held[session]
	if own == nil {
		own = &sessionLock{taken: make(chan struct{}, 1)}
		l.held[session] = own
	}
	own.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(l.held, session)
		}
	}
	select {
	case own.taken <- struct{}{}:
		return func() { <-own.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// begun returns the number of the turn that a request with a key began in a session, 0 for none.
func (a *askings) begun(ctx context.Context, session string, once *onceKey) (int, error) {
	kept, err := a.store.Session(ctx, session)
	if err != nil {
		if errors.Is(err, sessions.ErrNoSession) {
			err = nil
		}
		return 0, err
	}
	for number, asked := range askingsOf(kept) {
		if asked.Key == once.id {
			return number, once.check(asked.Body)
		}
	}
	return 0, nil
}

// said returns what is kept of the request that began a turn. Without a session it is a deleted
// request.
func (a *askings) said(ctx context.Context, p place) (asking, error) {
	session, err := a.store.Session(ctx, p.session)
	if errors.Is(err, sessions.ErrNoSession) {
		return asking{IsDeleted: true}, nil
	}
	return askingsOf(session)[p.turn], err
}

// checkPrevious refuses to go on after a turn that does not exist, is not over, or belongs to another
// session than the request names. isLast reports that the turn is the last of its session.
func (a *askings) checkPrevious(ctx context.Context, p place, named string) (isLast bool, err error) {
	missing := refusal{
		status: http.StatusBadRequest, param: "previous_response_id", code: "previous_response_not_found",
		message: "previous_response_id names no response of this server",
	}
	if p == (place{}) {
		return false, missing
	}
	said, err := a.said(ctx, p)
	if err == nil && (said.IsDeleted || !mayUse(ctx, p.session)) {
		err = missing
	}
	if err != nil {
		return false, err
	}
	if named != "" {
		if named, err = sessionID(ctx, named); err != nil {
			return false, err
		}
		if named != p.session {
			return false, badRequest("previous_response_id", "previous_response_id is of another session: leave out the conversation or metadata.session_id, or previous_response_id")
		}
	}
	turn, of, err := storedTurn(ctx, a.store, p)
	switch {
	case err != nil:
		return false, err
	case turn == nil:
		return false, missing
	case turn.Status == sessions.Running:
		return false, sessions.ErrBusy
	}
	return of.Turns == p.turn, nil
}

// ask begins a turn, and keeps a part of its request with it. If the session exists, ask stores that
// part before the turn begins. The turn does not begin if the context begin ends first, also while ask waits
// for another turn that begins in the session.
func (a *askings) ask(begin context.Context, panel *massgen.Panel, session, question string, said *asking) (*massgen.Turn, error) {
	if said == nil {
		return panel.Ask(begin, session, question)
	}
	ctx := context.WithoutCancel(begin)
	unlock, err := a.locks.lock(begin, session)
	if err != nil {
		return nil, err
	}
	defer unlock()
	before, err := a.store.Session(ctx, session)
	expected := 0
	switch {
	case err == nil:
		expected = before.Turns + 1
		if err := a.keep(ctx, place{session, expected}, *said, old(before, expected)); err != nil {
			return nil, err
		}
	case !errors.Is(err, sessions.ErrNoSession):
		return nil, err
	}
	if expected == 0 { // the first turn's event stores it, so that every server of this store knows of the request at once
		text, err := json.Marshal(*said)
		if err != nil {
			return nil, err
		}
		begin = sessions.WithMetadata(begin, session, map[string]string{MetaRequest + "1": string(text)})
	}
	turn, err := panel.Ask(begin, session, question)
	if err != nil {
		if expected > 0 {
			err = errors.Join(err, a.store.SetMetadata(ctx, session, forgotten(expected)))
		}
		return nil, err
	}
	if turn.Number() == expected {
		return turn, nil
	}
	var wrong map[string]string
	if expected > 0 {
		wrong = forgotten(expected)
	}
	if err := a.keep(ctx, place{session, turn.Number()}, *said, wrong); err != nil {
		a.log.Error("what a request said is not kept", "error", err)
	}
	return turn, nil
}

// check refuses a part of a request that would not fit into the session's metadata.
func (a *askings) check(said *asking) error {
	if said == nil {
		return nil
	}
	largest := *said
	largest.IsDeleted = true // as a later request may have it
	text, err := json.Marshal(largest)
	if err != nil {
		return badRequest("metadata", "metadata: "+err.Error())
	}
	if sessions.CheckMetadata(map[string]string{MetaRequest: a.redact(string(text))}) == nil {
		return nil
	}
	param := "metadata"
	if len(said.Format) > len(text)/2 {
		param = "text.format"
	}
	return badRequest(param, fmt.Sprintf("%s: the metadata, the format and previous_response_id have %d bytes of JSON together, more than fit into a session: shorten them", param, len(text)))
}

// keep stores the part of a request that its session keeps with a turn, and other metadata beside it.
func (a *askings) keep(ctx context.Context, p place, said asking, beside map[string]string) error {
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	metadata := map[string]string{MetaRequest + strconv.Itoa(p.turn): string(text)}
	maps.Copy(metadata, beside)
	return a.store.SetMetadata(ctx, p.session, metadata)
}

// forgotten returns the metadata that deletes what is kept of the requests of turns.
func forgotten(numbers ...int) map[string]string {
	metadata := map[string]string{}
	for _, n := range numbers {
		metadata[MetaRequest+strconv.Itoa(n)] = ""
	}
	return metadata
}

// old returns the metadata that deletes requests long ago, and requests of turns that the session
// does not have.
func old(s sessions.Session, next int) map[string]string {
	var gone []int
	for number := range askingsOf(s) {
		if number <= next-mostAskings || number > next {
			gone = append(gone, number)
		}
	}
	slices.Sort(gone)
	return forgotten(gone...)
}
