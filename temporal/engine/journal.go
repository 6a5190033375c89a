package engine

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// journal is the journal of a turn in the store, which a turn by texts writes while effects run: the
// workflow's history has each event before, so a lost batch is written again, and the journal has
// all events before the turn is concluded or goes on as a new run.
type journal struct {
	// events counts the events in the store, unwritten are those that follow.
	events    int
	unwritten []json.RawMessage
	isWriting bool
	fault     error
}

// mostEntry is about the most bytes of events for one activity: the server accepts at most 2 MB
// at once.
const mostEntry = 512 << 10

// Append implements driver.Runtime. The workflow's history has the events and their places
// before an activity writes them, so that a second try writes the same.
func (p *player) Append(events []turn.Event, _ bool) error {
	if p.in.Form == wholeTurns {
		return p.appendWhole(events)
	}
	for _, ev := range events {
		data, err := turn.Encode(ev)
		if err != nil {
			return err
		}
		p.journal.unwritten = append(p.journal.unwritten, data)
	}
	if !p.journal.isWriting {
		p.journal.isWriting = true
		workflow.Go(p.root, p.writeJournal)
	}
	return p.journal.fault
}

// appendWhole writes events before it returns.
func (p *player) appendWhole(events []turn.Event) error {
	for len(events) > 0 {
		e := p.entry()
		for size := 0; len(events) > 0 && size < mostEntry; events = events[1:] {
			data, err := turn.Encode(events[0])
			if err != nil {
				return err
			}
			e.Events = append(e.Events, data)
			size += len(data)
		}
		if err := p.write(p.root, e); err != nil {
			return err
		}
		p.journal.events += len(e.Events)
	}
	return nil
}

// writeJournal writes events until all are written, each time all that have come since. A failure
// ends the turn.
func (p *player) writeJournal(ctx workflow.Context) {
	j := &p.journal
	for len(j.unwritten) > 0 && j.fault == nil {
		e, size, n := p.entry(), 0, 0
		for ; n < len(j.unwritten) && size < mostEntry; n++ {
			size += len(j.unwritten[n])
		}
		e.Journal, j.unwritten = j.unwritten[:n], j.unwritten[n:]
		if j.fault = p.write(ctx, e); j.fault == nil {
			j.events += n
		}
	}
	j.isWriting = false
	if j.fault != nil {
		p.happened(happening{fault: j.fault, event: func(kernel.Time) turn.Event { return nil }})
	}
}

// flush returns when the store has all events.
func (p *player) flush() error {
	if err := workflow.Await(p.root, func() bool { return !p.journal.isWriting }); err != nil {
		return err
	}
	return p.journal.fault
}

func (p *player) entry() entry {
	return entry{Session: p.in.Session, Owner: p.in.Owner, Number: p.number, Place: p.journal.events}
}

func (p *player) write(ctx workflow.Context, e entry) error {
	options := p.bookkeeping()
	options.StartToCloseTimeout, options.HeartbeatTimeout = min(mostWrite, p.in.Settings.Heartbeat), 0
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), journalName, e).Get(ctx, nil)
}
