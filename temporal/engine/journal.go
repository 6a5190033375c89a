package engine

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// journal is what a workflow knows of the one in the store. That decides in which order
// what happened is applied: a worker may be lost that has written events and told nobody,
// and the one that plays on from before them may see things in another order, and has
// another time. So each event is only proposed, and the one that stands at its place is
// applied.
type journal struct {
	events int
	// inbox has what happened and is not in the journal yet, as far as this worker knows.
	inbox []happening
	// ahead names the events that were applied before what they tell of came to the inbox.
	// They are those of one workflow task whose worker was lost, so that no attempt of a call
	// is both settled and followed by another one in them.
	ahead []name
}

// happening is what happened, as an event of a moment.
type happening struct {
	// event is nil if it came too late.
	event func(at kernel.Time) turn.Event
	// stands, if there is one, is called when the journal has the event.
	stands func()
}

// name tells apart what happens. What happens again under one name does so in order.
type name struct {
	kind string
	key  machine.Key
}

// nameOf returns the name of an event that may be ahead. The clock may be late, or early,
// and does no harm.
func nameOf(ev turn.Event) (n name, ok bool) {
	switch ev := ev.(type) {
	case turn.Woke:
		return n, false
	case turn.Reserving:
		n.key = ev.Key
	case turn.Settled:
		n.key = ev.Key
	case turn.Lost:
		n.key = ev.Key
	default:
		n.key, _ = turn.KeyOf(ev)
	}
	n.kind = fmt.Sprintf("%T", ev)
	return n, true
}

// happened puts something into the inbox.
func (p *player) happened(h happening) { p.journal.inbox = append(p.journal.inbox, h) }

// take waits for something to happen, has one event journaled, and applies it. It returns
// the effects that are to start.
func (p *player) take() ([]machine.Effect, error) {
	j := &p.journal
	if err := workflow.Await(p.root, func() bool { return len(j.inbox) > 0 }); err != nil {
		return nil, err
	}
	h := j.inbox[0]
	ev := h.event(p.now())
	if ev == nil || j.catchUp(ev) {
		h.taken(j)
		return nil, nil
	}
	other, err := p.propose(ev)
	if err != nil {
		return nil, err
	}
	j.events++
	if other == nil {
		h.taken(j)
		return p.feed(ev)
	}
	p.adopt(other)
	return p.feed(other)
}

// taken takes what came first out of the inbox.
func (h happening) taken(j *journal) {
	j.inbox = slices.Delete(j.inbox, 0, 1)
	if h.stands != nil {
		h.stands()
	}
}

// catchUp says that an event was applied already, and forgets that.
func (j *journal) catchUp(ev turn.Event) bool {
	n, ok := nameOf(ev)
	i := slices.Index(j.ahead, n)
	if !ok || i < 0 {
		return false
	}
	j.ahead = slices.Delete(j.ahead, i, i+1)
	return true
}

// adopt notes that an event is applied of which only the journal tells so far.
func (p *player) adopt(ev turn.Event) {
	if n, ok := nameOf(ev); ok {
		p.journal.ahead = append(p.journal.ahead, n)
	}
	if _, ok := ev.(turn.Interrupted); ok {
		p.cut = true
	}
}

// forget drops what a call's attempts have still to ask for: their worker is lost.
func (p *player) forget(key machine.Key) {
	for _, asked := range []turn.Event{turn.Reserving{Key: key}, turn.Settled{Key: key}} {
		for p.journal.catchUp(asked) {
			continue
		}
	}
	if p.permits[key] != nil {
		p.tell(key, "its worker is lost")
		delete(p.permits, key)
	}
}

// propose has an event written at the end of the journal. It returns the one that stands
// there already, or nil.
func (p *player) propose(ev turn.Event) (other turn.Event, err error) {
	data, err := turn.Encode(ev)
	if err != nil {
		return nil, err
	}
	ctx := patiently(p.root)
	e := entry{Session: p.in.Session, Owner: p.in.Owner, Number: p.number, Place: p.journal.events, Event: data}
	var stands []byte
	if err := workflow.ExecuteLocalActivity(ctx, journalName, e).Get(p.root, &stands); err != nil {
		return nil, fmt.Errorf("write the journal: %w", err)
	}
	if len(stands) == 0 {
		return nil, nil
	}
	return turn.Decode(stands)
}
