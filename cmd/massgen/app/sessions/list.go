package sessions

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
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

// paging has the flags of what is printed in pages.
type paging struct {
	limit, after string
}

func (p *paging) flags() []cli.Flag {
	return []cli.Flag{
		cmdline.TextFlag("", "limit", &p.limit, fmt.Sprintf("list, search: print a page of `N` (default: %d); list --json without --limit and --after prints all", archive.PageSize)),
		cmdline.TextFlag("", "after", &p.after, "list, search: print the page after `PLACE`, which the page before names"),
	}
}

// isGiven reports whether the command line asks for a page.
func (p *paging) isGiven() bool { return p.limit != "" || p.after != "" }

// filter returns the page that the flags ask for.
func (p *paging) filter() (page sessions.Filter, err error) {
	const most = 100_000
	page.Limit = archive.PageSize
	if p.limit != "" {
		if page.Limit, err = strconv.Atoi(p.limit); err != nil || page.Limit < 1 || page.Limit > most {
			return page, fmt.Errorf("--limit is %q: it is a whole number from 1 to %d", wording.Shortened(p.limit, 40), most)
		}
	}
	if page.After, err = sessions.ParsePlace(p.after); err != nil {
		return page, fmt.Errorf("--after is %q: %w", wording.Shortened(p.after, 40), err)
	}
	return page, nil
}

// more says on standard error how to print the next page. words are those of the command.
func (c *command) more(next sessions.Place, words ...string) {
	if next == (sessions.Place{}) {
		return
	}
	if c.page.limit != "" {
		words = append(words, "--limit", c.page.limit)
	}
	c.console.Say("massgen: there are more: %s", c.kept.Command(append(words, "--after", next.String())...))
}

func (c *command) listSessions(ctx context.Context, store *store.Store, _ []string) error {
	page, err := c.page.filter()
	if err != nil {
		return err
	}
	if c.kept.IsJSON() && !c.page.isGiven() {
		return c.listAll(ctx, store)
	}
	list, next, err := archive.ListSessions(ctx, store.Sessions, page)
	switch {
	case err != nil:
		return err
	case c.kept.IsJSON():
		return c.console.PutJSON(struct {
			Sessions []sessions.Session `json:"sessions"`
			Next     string             `json:"next,omitempty"`
		}{forPrint(list), next.String()})
	case len(list) == 0 && c.page.after != "":
		return c.console.Put("there are no more sessions\n")
	case len(list) == 0:
		return c.console.Put(fmt.Sprintf("there is no session yet in %s: %s begins one\n", plain.Line(store.Path()), c.kept.Asking("")))
	}
	left, err := archive.Interrupted(ctx, store, page)
	if err != nil {
		return err
	}
	text := plain.Columns(wording.SessionTable(list, left))
	for i, s := range list[:min(len(list), mostHints)] {
		if t, isLeft := left[s.ID]; isLeft && (i == 0 && c.page.after == "" || !c.kept.IsFile()) {
			text += fmt.Sprintf("%s finishes turn %d of %s\n", c.kept.Finishing(s.ID), t.Number, plain.Line(s.ID))
		}
	}
	if err := c.console.Put(text); err != nil {
		return err
	}
	c.more(next, "sessions", "list")
	return nil
}

// listAll prints all sessions as one JSON array. It reads them in pages.
func (c *command) listAll(ctx context.Context, store *store.Store) error {
	const size = 500
	before := "["
	for page := (sessions.Filter{Limit: size}); ; {
		list, next, err := archive.ListSessions(ctx, store.Sessions, page)
		if err != nil {
			return err
		}
		var text strings.Builder
		for _, s := range forPrint(list) {
			line, err := plain.JSONLine(s)
			if err != nil {
				return err
			}
			text.WriteString(before + line)
			before = ","
		}
		if next == (sessions.Place{}) {
			if before == "[" { // an empty store
				text.WriteString(before)
			}
			return c.console.Put(text.String() + "]\n")
		}
		if err := c.console.Put(text.String()); err != nil {
			return err
		}
		page.After = next
	}
}

// forPrint removes metadata from sessions that belongs to the program itself.
func forPrint(list []sessions.Session) []sessions.Session {
	for _, s := range list {
		delete(s.Metadata, archive.MetaPanel) // sessions show has it
		maps.DeleteFunc(s.Metadata, isOfServer)
	}
	return append([]sessions.Session{}, list...)
}

func (c *command) searchSessions(ctx context.Context, store *store.Store, words []string) error {
	page, err := c.page.filter()
	if err != nil {
		return err
	}
	query := strings.Join(words, " ")
	hits, next, err := archive.SearchSessions(ctx, store, query, page)
	switch {
	case err != nil:
		return err
	case c.kept.IsJSON():
		return c.console.PutJSON(struct {
			Hits []sessions.Hit `json:"hits"`
			Next string         `json:"next,omitempty"`
		}{append([]sessions.Hit{}, hits...), next.String()})
	case len(hits) == 0 && c.page.after != "":
		return c.console.Put("there are no more places\n")
	case len(hits) == 0:
		return c.console.Put(fmt.Sprintf("nothing has all the words of %q; a star ends a word that may go on\n", wording.Shortened(query, 60)))
	}
	rows := [][]string{{"ID", "TURN", "TEXT"}}
	for _, h := range hits {
		turn := "title"
		if h.Turn > 0 {
			turn = strconv.Itoa(h.Turn)
		}
		rows = append(rows, []string{h.Session, turn, h.Snippet})
	}
	if err := c.console.Put(plain.Columns(rows)); err != nil {
		return err
	}
	c.more(next, append([]string{"sessions", "search"}, words...)...)
	return nil
}
