package coordinator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
)

// ReadRecord reads the record of a turn from its journal, whatever the turn's outcome. A branch
// has no journals of the turns before it: their records are empty. The error is for a store that
// failed, or for a journal that is damaged or of another version. The record then has the
// readable part.
func ReadRecord(ctx context.Context, r Recording, session string, number int) (report.Record, error) {
	events, damage := readJournal(ctx, r, session, number)
	shown, err := report.Project(events, report.Source{Session: session, Turn: number, Texts: agents.LookupIn(ctx, r)})
	record, unread := shown.Record()
	if err = cmp.Or(damage, err, unread); err != nil {
		err = fmt.Errorf("read turn %d of session %s: %w", number, session, err)
	}
	return record, err
}
