package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/massgen/massgen/coordinator/turn"
)

// journalReader has the journals of turns.
type journalReader interface {
	Journal(ctx context.Context, session string, turn int) ([][]byte, error)
}

// journalEvents yields the events of a turn, and ends with the first error.
func journalEvents(ctx context.Context, r journalReader, session string, number int) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		journal, err := r.Journal(ctx, session, number)
		if err != nil {
			yield(nil, err)
			return
		}
		decoded(journal)(yield)
	}
}

// decoded yields the events of a journal, and ends with the first error.
func decoded(journal [][]byte) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		for i, data := range journal {
			ev, err := turn.Decode(data)
			if err != nil {
				yield(nil, fmt.Errorf("event %d of its journal: %w", i+1, err))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
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

// readJournal reads the events of a turn.
func readJournal(ctx context.Context, r journalReader, session string, number int) ([]turn.Event, error) {
	var events []turn.Event
	for ev, err := range journalEvents(ctx, r, session, number) {
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// firstEvent returns the event with which a journal begins.
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

// played returns the machine as the events of a turn leave it, the zero value after none.
// A journal that was imported may have anything in it: what breaks the machine is an error.
func played(events []turn.Event) (*turn.Machine, error) {
	var m turn.Machine
	err := guarded("the machine", func() error {
		for i, ev := range events {
			if _, err := m.Apply(ev); err != nil {
				return fmt.Errorf("event %d of its journal: %w", i+1, err)
			}
		}
		return nil
	})
	return &m, err
}
