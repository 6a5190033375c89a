package coordinator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/massgen/massgen/internal/coordination/turn"
)

// decoded returns the events of a journal from a place on, up to the first unreadable one. It
// decodes on all processors.
func decoded(journal [][]byte, from int) ([]turn.Event, error) {
	const leastPart = 32
	events, errs := make([]turn.Event, len(journal)), make([]error, len(journal))
	parts := min(runtime.GOMAXPROCS(0), len(journal)/leastPart+1)
	var group sync.WaitGroup
	for part := range parts {
		group.Go(func() {
			for i := part; i < len(journal); i += parts {
				events[i], errs[i] = turn.Decode(journal[i])
			}
		})
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			return events[:i], fmt.Errorf("event %d of its journal: %w", from+i+1, err)
		}
	}
	return events, nil
}

// encoded returns events as the journal stores them.
func encoded(events []turn.Event) ([][]byte, error) {
	journal := make([][]byte, len(events))
	for i, ev := range events {
		var err error
		if journal[i], err = turn.Encode(ev); err != nil {
			return nil, err
		}
	}
	return journal, nil
}

// readJournal reads the events of a turn up to the first unreadable one.
func readJournal(ctx context.Context, r Recording, session string, number int) ([]turn.Event, error) {
	return readJournalFrom(ctx, r, session, number, 0)
}

// readJournalFrom is readJournal for the events from a place on.
func readJournalFrom(ctx context.Context, r Recording, session string, number, from int) ([]turn.Event, error) {
	journal, err := r.Journal(ctx, session, number, from)
	if err != nil {
		return nil, err
	}
	return decoded(journal, from)
}

// firstEvent returns the first event of a journal.
func firstEvent(events []turn.Event) (turn.Accepted, error) {
	if len(events) == 0 {
		return turn.Accepted{}, errors.New("its journal is empty")
	}
	accepted, ok := events[0].(turn.Accepted)
	if !ok {
		return accepted, errors.New("its journal does not begin with the accepted turn")
	}
	return accepted, nil
}
