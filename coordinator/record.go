package coordinator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
)

// ReadRecord reads the record of a turn from its journal, whatever became of the turn. Branches
// have no journal of the turns before them: their record is empty. The error says that the
// store does not work, or that the journal is damaged or of another version; the record then
// has what could be read.
func ReadRecord(ctx context.Context, r Recording, session string, number int) (report.Record, error) {
	events, damage := readJournal(ctx, r, session, number)
	shown, err := report.Project(events, report.Source{Session: session, Turn: number, Texts: agents.LookupIn(ctx, r)})
	record, unread := shown.Record()
	if err = cmp.Or(damage, err, unread); err != nil {
		err = fmt.Errorf("read turn %d of session %s: %w", number, session, err)
	}
	return record, err
}
