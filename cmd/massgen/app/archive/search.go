package archive

import (
	"context"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

// MostHits is how many places a search shows.
const MostHits = 50

// SearchSessions returns the places with all the words of a query: at most mostHits and one, beside
// turns that have not ended.
func SearchSessions(ctx context.Context, store *store.Store, query string) ([]sessions.Hit, error) {
	hits, err := running(ctx, store, query)
	if err != nil {
		return nil, err
	}
	ended, err := store.Search(ctx, query, MostHits+1)
	return append(hits, ended...), err
}

// running returns the turns whose question has all the words of a query, and that run or were
// interrupted. A store finds a turn only after its end.
func running(ctx context.Context, store *store.Store, query string) (hits []sessions.Hit, err error) {
	unended, err := store.List(ctx, sessions.Filter{Unended: true})
	if err != nil {
		return nil, err
	}
	for _, s := range unended {
		turns, err := store.Turns(ctx, s.ID, 1)
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
