package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// mostHints is for how many sessions a list says what finishes their turns.
const mostHints = 20

// mostHits is how many places a search shows.
const mostHits = 50

// isOfServer says that metadata are for the server alone.
func isOfServer(key, _ string) bool { return strings.HasPrefix(key, server.MetaRequest) }

func (c *sessionsCommand) listSessions(ctx context.Context, store *store.Store, _ []string) error {
	all, err := store.List(ctx, sessions.Filter{})
	switch {
	case err != nil:
		return err
	case c.kept.isJSON():
		for _, s := range all {
			delete(s.Metadata, metaPanel) // sessions show has it
			maps.DeleteFunc(s.Metadata, isOfServer)
		}
		return c.console.putJSON(append([]sessions.Session{}, all...))
	case len(all) == 0:
		return c.console.put(fmt.Sprintf("there is no session yet in %s: %s begins one\n", plain.Line(store.Path()), c.kept.asking("")))
	}
	left, err := interrupted(ctx, store)
	if err != nil {
		return err
	}
	text := plain.Columns(sessionTable(all, left))
	for i, s := range all[:min(len(all), mostHints)] {
		if t, isLeft := left[s.ID]; isLeft && (i == 0 || !c.kept.isFile()) {
			text += fmt.Sprintf("%s finishes turn %d of %s\n", c.kept.finishing(s.ID), t.Number, plain.Line(s.ID))
		}
	}
	return c.console.put(text)
}

// interrupted returns the turns that can be finished, by the ids of their sessions.
func interrupted(ctx context.Context, store *store.Store) (map[string]sessions.Turn, error) {
	unended, err := store.List(ctx, sessions.Filter{Unended: true})
	if err != nil {
		return nil, err
	}
	turns := map[string]sessions.Turn{}
	for _, s := range unended {
		left, err := store.Interrupted(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		if len(left) > 0 {
			turns[s.ID] = left[0]
		}
	}
	return turns, nil
}

// sessionTable has a row for each session. interrupted has the turns that can be finished, by the
// ids of their sessions.
func sessionTable(list []sessions.Session, interrupted map[string]sessions.Turn) [][]string {
	rows := [][]string{{"ID", "TURNS", "LAST USED", "TITLE"}}
	for _, s := range list {
		title := titleOf(s)
		if left, isLeft := interrupted[s.ID]; isLeft {
			title = fmt.Sprintf("%s (turn %d interrupted)", cmp.Or(s.Title, shortened(left.Question, 60)), left.Number)
		}
		rows = append(rows, []string{s.ID, strconv.Itoa(s.Turns), moment(s.Updated), title})
	}
	return rows
}

// titleOf is a session's title or, as the first question that is answered gives it one,
// why there is none.
func titleOf(s sessions.Session) string {
	if s.Title == "" && s.Turns > 0 {
		return "(no answer yet)"
	}
	return s.Title
}

func (c *sessionsCommand) searchSessions(ctx context.Context, store *store.Store, words []string) error {
	query := strings.Join(words, " ")
	hits, err := searchSessions(ctx, store, query)
	switch {
	case err != nil:
		return err
	case len(hits) == 0:
		return c.console.put(fmt.Sprintf("nothing has all the words of %q; a star ends a word that may go on\n", shortened(query, 60)))
	}
	rows := [][]string{{"ID", "TURN", "TEXT"}}
	for _, h := range hits[:min(len(hits), mostHits)] {
		turn := "title"
		if h.Turn > 0 {
			turn = strconv.Itoa(h.Turn)
		}
		rows = append(rows, []string{h.Session, turn, h.Snippet})
	}
	text := plain.Columns(rows)
	if len(hits) > mostHits {
		text += fmt.Sprintf("These are the first %d; more words find fewer.\n", mostHits)
	}
	return c.console.put(text)
}

// searchSessions returns the places with all the words of a query: at most mostHits and one, beside
// turns that have not ended.
func searchSessions(ctx context.Context, store *store.Store, query string) ([]sessions.Hit, error) {
	hits, err := running(ctx, store, query)
	if err != nil {
		return nil, err
	}
	ended, err := store.Search(ctx, query, mostHits+1)
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
				hits = append(hits, sessions.Hit{Session: s.ID, Title: s.Title, Turn: t.Number, Snippet: shortened(t.Question, 120)})
			}
		}
	}
	return hits, nil
}
