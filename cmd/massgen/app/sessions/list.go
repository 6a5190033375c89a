package sessions

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// mostHints is how many sessions of a list are followed by the command that finishes their turn.
const mostHints = 20

// isOfServer reports whether metadata are for the server alone.
func isOfServer(key, _ string) bool { return strings.HasPrefix(key, server.MetaRequest) }

func (c *command) listSessions(ctx context.Context, store *store.Store, _ []string) error {
	all, err := store.Sessions.List(ctx, sessions.Filter{})
	switch {
	case err != nil:
		return err
	case c.kept.IsJSON():
		for _, s := range all {
			delete(s.Metadata, archive.MetaPanel) // sessions show has it
			maps.DeleteFunc(s.Metadata, isOfServer)
		}
		return c.console.PutJSON(append([]sessions.Session{}, all...))
	case len(all) == 0:
		return c.console.Put(fmt.Sprintf("there is no session yet in %s: %s begins one\n", plain.Line(store.Path()), c.kept.Asking("")))
	}
	left, err := archive.Interrupted(ctx, store)
	if err != nil {
		return err
	}
	text := plain.Columns(wording.SessionTable(all, left))
	for i, s := range all[:min(len(all), mostHints)] {
		if t, isLeft := left[s.ID]; isLeft && (i == 0 || !c.kept.IsFile()) {
			text += fmt.Sprintf("%s finishes turn %d of %s\n", c.kept.Finishing(s.ID), t.Number, plain.Line(s.ID))
		}
	}
	return c.console.Put(text)
}

func (c *command) searchSessions(ctx context.Context, store *store.Store, words []string) error {
	query := strings.Join(words, " ")
	hits, err := archive.SearchSessions(ctx, store, query)
	switch {
	case err != nil:
		return err
	case len(hits) == 0:
		return c.console.Put(fmt.Sprintf("nothing has all the words of %q; a star ends a word that may go on\n", wording.Shortened(query, 60)))
	}
	rows := [][]string{{"ID", "TURN", "TEXT"}}
	for _, h := range hits[:min(len(hits), archive.MostHits)] {
		turn := "title"
		if h.Turn > 0 {
			turn = strconv.Itoa(h.Turn)
		}
		rows = append(rows, []string{h.Session, turn, h.Snippet})
	}
	text := plain.Columns(rows)
	if len(hits) > archive.MostHits {
		text += fmt.Sprintf("These are the first %d; more words find fewer.\n", archive.MostHits)
	}
	return c.console.Put(text)
}
