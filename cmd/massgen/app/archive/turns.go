package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// DeleteSession deletes a session and the snapshots of its workspaces.
func DeleteSession(ctx context.Context, store *store.Store, id string) error {
	return deleteSession(store, id, func() error { return store.Sessions.Delete(ctx, id) })
}

// DeleteUnused is DeleteSession for a session that was last used before a time. It returns false for a session that
// was used since, that a turn runs on, or that is gone.
func DeleteUnused(ctx context.Context, store *store.Store, id string, since time.Time) (deleted bool, err error) {
	isLeft := false
	err = deleteSession(store, id, func() error {
		err := sessions.DeleteUnused(ctx, store.Sessions, id, since)
		isLeft = errors.Is(err, sessions.ErrUsed) || errors.Is(err, sessions.ErrBusy) || errors.Is(err, sessions.ErrNoSession)
		return err
	})
	if isLeft {
		return false, nil
	}
	return err == nil, err
}

func deleteSession(store *store.Store, id string, remove func() error) error {
	snapshots, err := store.SnapshotStorages()
	if err != nil {
		return err
	}
	err = remove()
	if errors.Is(err, sessions.ErrBusy) {
		return fmt.Errorf("%s: a turn is running on it: wait until it is over, or end it", plain.Line(id))
	}
	if err != nil {
		return err
	}
	return snapshots.Remove(id)
}

// CallsOf reads the calls of turns from their journals. It skips a call that is damaged and passes
// the reason to warn.
func CallsOf(ctx context.Context, r Recording, id string, turns []sessions.Turn, warn func(string)) (calls []debugbackend.Call) {
	for _, t := range turns {
		calls = append(calls, inspect.Calls(ctx, r, id, t.Number, warn)...)
	}
	return calls
}

// CheckNewID refuses an id that --session-id would not take for an id.
func CheckNewID(id string) error {
	if err := sessions.CheckID(id); err != nil {
		return err
	}
	if id == cmdline.NewSession || id == cmdline.LastSession || cmdline.IsPath(id) {
		return fmt.Errorf("the id %q would mean something else to --session-id: name another, without slashes and without .json, .jsonl or .db at its end", plain.Line(id))
	}
	return nil
}

// LastEnded returns the last turn of a session that is over.
func LastEnded(ctx context.Context, store *store.Store, id string) (sessions.Turn, error) {
	last, err := store.Sessions.Turns(ctx, id, 2)
	if err != nil {
		return sessions.Turn{}, err
	}
	for _, t := range slices.Backward(last) {
		if t.Status != sessions.Running {
			return t, nil
		}
	}
	return sessions.Turn{}, fmt.Errorf("session %s has no turn yet that is over", plain.Line(id))
}

// Interrupted returns the turns on a page of sessions that can be finished, by the ids of their sessions.
func Interrupted(ctx context.Context, store *store.Store, page sessions.Filter) (map[string]sessions.Turn, error) {
	page.Unended = true
	unended, err := store.Sessions.List(ctx, page)
	if err != nil {
		return nil, err
	}
	turns := map[string]sessions.Turn{}
	for _, s := range unended {
		left, err := store.Sessions.Interrupted(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		if len(left) > 0 {
			turns[s.ID] = left[0]
		}
	}
	return turns, nil
}

// LastTurn returns a session's last turn. left reports whether a process left the turn unfinished; else a
// turn that has not ended is running.
func LastTurn(ctx context.Context, store *store.Store, id string) (last sessions.Turn, left bool, err error) {
	turns, err := store.Sessions.Interrupted(ctx, id)
	left = len(turns) > 0
	if err == nil && !left {
		turns, err = store.Sessions.Turns(ctx, id, 1)
	}
	if err != nil || len(turns) == 0 {
		return sessions.Turn{}, false, err
	}
	return turns[0], left, nil
}

// PageSize is how many sessions a list shows, and how many places a search.
const PageSize = 50

// SearchSessions returns a page of the places with all the words of a query, and where the next page begins, zero after
// the last one. The first page also has the turns that have not ended.
func SearchSessions(ctx context.Context, store *store.Store, query string, page sessions.Filter) (hits []sessions.Hit, next sessions.Place, err error) {
	if page.After == (sessions.Place{}) {
		if hits, err = running(ctx, store, query); err != nil {
			return nil, next, err
		}
	}
	limit := page.Limit
	page.Limit++
	ended, err := store.Sessions.Search(ctx, query, page)
	if len(ended) > limit {
		ended = ended[:limit]
		next = ended[limit-1].Place()
	}
	return append(hits, ended...), next, err
}

// ListSessions returns a page of sessions, and where the next page begins, zero after the last one.
func ListSessions(ctx context.Context, store *sessions.Store, page sessions.Filter) (list []sessions.Session, next sessions.Place, err error) {
	limit := page.Limit
	page.Limit++
	list, err = store.List(ctx, page)
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Place()
	}
	return list, next, err
}

// running returns the turns whose question has all the words of a query, and that run or were
// interrupted. A store finds a turn only after its end.
func running(ctx context.Context, store *store.Store, query string) (hits []sessions.Hit, err error) {
	unended, err := store.Sessions.List(ctx, sessions.Filter{Unended: true})
	if err != nil {
		return nil, err
	}
	for _, s := range unended {
		turns, err := store.Sessions.Turns(ctx, s.ID, 1)
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			if t.Status == sessions.Running && sessions.ParseQuery(query).Finds(t.Question) {
				hits = append(hits, sessions.Hit{Session: s.ID, Title: s.Title, Turn: t.Number, Snippet: wording.Shortened(t.Question, 120), Updated: s.Updated})
			}
		}
	}
	return hits, nil
}
