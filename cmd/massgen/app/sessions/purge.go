package sessions

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// purging has the flags of sessions purge.
type purging struct {
	olderThan   string
	dryRun, yes bool
}

func (p *purging) flags() []cli.Flag {
	return []cli.Flag{
		cmdline.TextFlag("", "older-than", &p.olderThan, "purge: delete the sessions that were last used longer ago than `TIME`, such as 30d or 12h"),
		cmdline.SwitchFlag("", "dry-run", &p.dryRun, "purge: only count what would be deleted"),
		cmdline.SwitchFlag("", "yes", &p.yes, "purge: delete without a question"),
	}
}

// age returns the value of --older-than.
func (p *purging) age() (time.Duration, error) {
	if p.olderThan == "" {
		return 0, errors.New("--older-than is missing: massgen sessions purge --older-than 30d")
	}
	age, err := parseAge(p.olderThan)
	if err != nil {
		return 0, fmt.Errorf("--older-than is %q: it is a time above 0 such as 30d, 12h or 1d12h, of at most 100 years", wording.Shortened(p.olderThan, 40))
	}
	return age, nil
}

// parseAge parses a duration of Go that may have days before it, such as 1d12h.
func parseAge(text string) (time.Duration, error) {
	const day, most = 24 * time.Hour, 36500
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil || n > most {
		return 0, errors.New("no number of days")
	}
	var more time.Duration
	if rest != "" {
		if more, err = time.ParseDuration(rest); err != nil {
			return 0, err
		}
	}
	age := time.Duration(n)*day + more
	if more < 0 || more > most*day || age <= 0 {
		return 0, errors.New("out of range")
	}
	return age, nil
}

// purgeSessions deletes the sessions that were not used for long, each in transactions of its own. It leaves a
// session that a turn runs on, and one that is used meanwhile.
func (c *command) purgeSessions(ctx context.Context, store *store.Store, _ []string) error {
	age, err := c.purge.age()
	if err != nil {
		return err
	}
	since := time.Now().Add(-age)
	old := sessions.Filter{UnusedSince: since}
	totals, err := sessions.AddUp(ctx, store.Sessions, old)
	if err != nil {
		return err
	}
	count := plain.Count(totals.Sessions, "session")
	switch {
	case totals.Sessions == 0:
		return c.console.Put(fmt.Sprintf("no session was last used before %s\n", wording.Moment(since)))
	case c.purge.dryRun:
		return c.console.Put(fmt.Sprintf("%s last used before %s would be deleted, except those that a turn runs on\n", count, wording.Moment(since)))
	case c.purge.yes:
	case !c.kept.CanAsk():
		return fmt.Errorf("nothing was deleted: --yes deletes %s, --dry-run only counts them", count)
	default:
		yes, err := c.kept.Asks(fmt.Sprintf("%s last used before %s will be deleted for good.\nGo on?", count, wording.Moment(since)))
		if err != nil || !yes {
			return errors.Join(err, errors.New("nothing was deleted"))
		}
	}
	return c.purgeUnused(ctx, store, since)
}

// purgeUnused deletes the sessions that were last used before a time, page by page.
func (c *command) purgeUnused(ctx context.Context, store *store.Store, since time.Time) error {
	const size = 500
	deleted, left := 0, 0
	var next sessions.Place
	for page := (sessions.Filter{UnusedSince: since, Limit: size}); ; page.After = next {
		var list []sessions.Session
		var err error
		if list, next, err = archive.ListSessions(ctx, store.Sessions, page); err != nil {
			return err
		}
		for _, s := range list {
			isDeleted, err := archive.DeleteUnused(ctx, store, s.ID, since)
			if err != nil {
				return fmt.Errorf("after %s: %w", plain.Count(deleted, "deleted session"), err)
			}
			if !isDeleted {
				left++
				continue
			}
			deleted++
			if err := c.console.Put("deleted session " + plain.Line(s.ID) + "\n"); err != nil {
				return err
			}
		}
		if next == (sessions.Place{}) {
			break
		}
	}
	text := "deleted " + plain.Count(deleted, "session")
	if left > 0 {
		text += fmt.Sprintf("; %s stayed, in use by now", plain.Count(left, "session"))
	}
	return c.console.Put(text + "\n")
}
