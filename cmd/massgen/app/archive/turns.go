package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	snapshots, err := store.SnapshotStorages()
	if err != nil {
		return err
	}
	err = store.Sessions.Delete(ctx, id)
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

// Interrupted returns the turns that can be finished, by the ids of their sessions.
func Interrupted(ctx context.Context, store *store.Store) (map[string]sessions.Turn, error) {
	unended, err := store.Sessions.List(ctx, sessions.Filter{Unended: true})
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

// MostHits is how many places a search shows.
const MostHits = 50

// SearchSessions returns the places with all the words of a query: at most mostHits and one, beside
// turns that have not ended.
func SearchSessions(ctx context.Context, store *store.Store, query string) ([]sessions.Hit, error) {
	hits, err := running(ctx, store, query)
	if err != nil {
		return nil, err
	}
	ended, err := store.Sessions.Search(ctx, query, MostHits+1)
	return append(hits, ended...), err
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
				hits = append(hits, sessions.Hit{Session: s.ID, Title: s.Title, Turn: t.Number, Snippet: wording.Shortened(t.Question, 120)})
			}
		}
	}
	return hits, nil
}
