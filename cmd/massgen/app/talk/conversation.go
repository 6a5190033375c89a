package talk

import (
	"context"
	"errors"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/internal/setup/sidecalls"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

// conversation is the state of the session that is talked in.
type conversation struct {
	id    string
	turns int // that were over when the program came to the session
	last  int // number of the last turn that the conversation knows, 0 for none
	// unfinished is the turn that a process left in this session, nil without one.
	// busy reports whether a turn is running, in another process.
	unfinished *sessions.Turn
	busy       bool
	// remembers reports that the session stores its panel already, or must not store one.
	remembers bool
	// rebudgeted is the panel that the session stores, with limits that flags of this run
	// changed; nil without a change.
	rebudgeted *archive.Remembered
}

// load reads what a store has of the session. isElsewhere reports whether other processes play turns
// that this one may go on with.
func (c *conversation) load(ctx context.Context, from *store.Store, isElsewhere bool, warn func(string)) error {
	kept, err := from.Session(ctx, c.id)
	switch {
	case errors.Is(err, sessions.ErrNoSession):
		return nil
	case err != nil:
		return err
	}
	if _, err := sidecalls.ReadTopic(kept); err != nil {
		warn(err.Error())
	}
	c.turns = kept.Turns
	last, left, err := archive.LastTurn(ctx, from, c.id)
	c.last = last.Number
	switch {
	case err != nil || last.Status != sessions.Running:
		return err
	case left, isElsewhere:
		c.unfinished = &last
	default:
		c.busy = true
	}
	c.turns--
	return nil
}

// advance takes the number of the turn that has begun. It reports whether another process has deleted the
// session: then the numbers begin anew, and the panel is no longer stored.
func (c *conversation) advance(number int) (wasDeleted bool) {
	wasDeleted = number <= c.last
	c.last = number
	if wasDeleted {
		c.turns, c.remembers, c.rebudgeted = 0, false, nil
	}
	return wasDeleted
}

// rebudget notes that the session must store the limits of the flags. was is the panel that it stores.
func (c *conversation) rebudget(m memory, was archive.Remembered) {
	stored := was.Limits()
	was.Budget = m.limitsOver(&was)
	if was.Limits() != stored {
		c.rebudgeted = &was
	}
}
