package engine

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/turn"
)

// journal writes a turn's events to the store, in turns by texts while effects run: the workflow's
// history has each event before, so a lost batch is written again, and the store has all events
// before the turn is concluded or goes on as a new run.
type journal struct {
	number int // of the turn, 0 before it is begun
	// events counts the events in the store, unwritten are those that follow.
	events    int
	unwritten []json.RawMessage
	isWriting bool
	fault     error

	root    workflow.Context
	of      func() held
	options workflow.ActivityOptions
	// isWhole says that events are written before anything follows, and failed gets the fault of a
	// journal that is written meanwhile.
	isWhole bool
	failed  func(error)
}

// mostEntry is about the most bytes of events for one activity: the server accepts at most 2 MB
// at once.
const mostEntry = 512 << 10

// Append implements driver.Runtime. The workflow's history has the events and their places
// before an activity writes them, so that a second try writes the same.
func (p *player) Append(events []turn.Event, _ bool) error { return p.journal.append(events) }

func (j *journal) append(events []turn.Event) error {
	if j.isWhole {
		return j.appendWhole(events)
	}
	for _, ev := range events {
		data, err := turn.Encode(ev)
		if err != nil {
			return err
		}
		j.unwritten = append(j.unwritten, data)
	}
	if !j.isWriting {
		j.isWriting = true
		workflow.Go(j.root, j.writeAll)
	}
	return j.fault
}

// appendWhole writes events before it returns.
func (j *journal) appendWhole(events []turn.Event) error {
	for len(events) > 0 {
		e := j.entry()
		for size := 0; len(events) > 0 && size < mostEntry; events = events[1:] {
			data, err := turn.Encode(events[0])
			if err != nil {
				return err
			}
			e.Events = append(e.Events, data)
			size += len(data)
		}
		if err := j.write(j.root, e); err != nil {
			return err
		}
		j.events += len(e.Events)
	}
	return nil
}

// writeAll writes events until all are written, each time all that have come since. A failure
// ends the turn.
func (j *journal) writeAll(ctx workflow.Context) {
	for len(j.unwritten) > 0 && j.fault == nil {
		e, size, n := j.entry(), 0, 0
		for ; n < len(j.unwritten) && size < mostEntry; n++ {
			size += len(j.unwritten[n])
		}
		e.Journal, j.unwritten = j.unwritten[:n], j.unwritten[n:]
		if j.fault = j.write(ctx, e); j.fault == nil {
			j.events += n
		}
	}
	j.isWriting = false
	if j.fault != nil {
		j.failed(j.fault)
	}
}

// flush returns when the store has all events.
func (j *journal) flush() error {
	if err := workflow.Await(j.root, func() bool { return !j.isWriting }); err != nil {
		return err
	}
	return j.fault
}

// rest returns the events that the store lacks, for the activity that ends the turn, once nothing is being written any
// more; nil if there are none. It writes them itself if they have limit bytes or more.
func (j *journal) rest(limit int) (*entry, error) {
	size := 0
	for _, ev := range j.unwritten {
		size += len(ev)
	}
	var rest []json.RawMessage
	if size < limit {
		rest, j.unwritten = j.unwritten, nil
	}
	if err := j.flush(); err != nil || len(rest) == 0 {
		return nil, err
	}
	e := j.entry()
	e.Journal = rest
	j.events += len(rest) // what follows the answer comes after them
	return &e, nil
}

func (j *journal) entry() entry {
	of := j.of()
	return entry{Session: of.Session, Owner: of.Owner, Number: of.Number, Place: j.events}
}

func (j *journal) write(ctx workflow.Context, e entry) error {
	options := j.options
	options.StartToCloseTimeout, options.HeartbeatTimeout = min(mostWrite, options.HeartbeatTimeout), 0
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), journalName, e).Get(ctx, nil)
}
