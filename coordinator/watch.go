package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// watchEvery is the shortest pause between two readings of another process's journal. A pause is also at
// least watchRest times as long as the reading before it, so that many clients of one store make room for
// each other. watchPatience is how long the store may be away.
const (
	watchEvery    = 250 * time.Millisecond
	watchRest     = 10
	watchPatience = time.Hour
)

// readings says when a client reads the journal of a turn that another process plays: when the journal may
// have new events, with a pause after each reading. One goroutine owns it.
type readings struct {
	changed chan struct{}    // has room for one
	due     <-chan struct{}  // changed, nil in a pause
	rested  <-chan time.Time // nil outside of a pause
}

func newReadings() *readings {
	changed := make(chan struct{}, 1)
	return &readings{changed: changed, due: changed}
}

// tell reports that the journal may have new events. It is safe for concurrent use.
func (r *readings) tell() {
	select {
	case r.changed <- struct{}{}:
	default: // the next reading has these events too
	}
}

// rest begins the pause after a reading that took so long.
func (r *readings) rest(took time.Duration) {
	r.due, r.rested = nil, time.After(max(watchEvery, watchRest*took))
}

// resume ends the pause.
func (r *readings) resume() { r.due, r.rested = r.changed, nil }

// watched is the store of a turn that another process plays: it repeats reads while the store
// is away.
type watched struct{ Store }

// Get implements agents.Blobs.
func (s watched) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	return sessions.Again(ctx, watchPatience, func() ([]byte, error) { return s.Store.Get(ctx, ref) })
}

// Journal implements Store.
func (s watched) Journal(ctx context.Context, session string, number, from int) ([][]byte, error) {
	return sessions.Again(ctx, watchPatience, func() ([][]byte, error) { return s.Store.Journal(ctx, session, number, from) })
}

// Session implements Store.
func (s watched) Session(ctx context.Context, id string) (sessions.Session, error) {
	return sessions.Again(ctx, watchPatience, func() (sessions.Session, error) { return s.Store.Session(ctx, id) })
}

// watcher follows a turn that another process plays, by the turn's journal, and passes a
// person's messages on to it. The goroutine of run owns it.
type watcher struct {
	*view
	remote RemoteTurn
	// read counts the applied events of the journal.
	read int
	// passed are the notes that were passed on and are not in the journal yet.
	passed []passedNote
	asking *attendant
}

// passedNote is a note that was passed on to the process that plays the turn.
type passedNote struct {
	id   string
	note *note
}

// watch watches a RemoteTurn until it is over.
func (p *Panel) watch(ctx context.Context, t *Turn, remote RemoteTurn) {
	v := newView(ctx, p.on(watched{p.opts.Store}), t, new(turn.Machine))
	w := &watcher{view: v, remote: remote, asking: newAttendant(v, remote)}
	p.count(1)
	go func() {
		defer p.count(-1)
		w.run(ctx)
	}()
}

// run watches the turn until it is over. Failures after its answer become events.
func (w *watcher) run(ctx context.Context) {
	t := w.turn
	err := w.follow(ctx)
	if t.Status() == Running {
		w.deliver(err)
	} else {
		if err == nil {
			_, err = w.sessionUpdate()
		}
		if err != nil {
			t.events.add(report.SidecallFailed{Why: err.Error()})
		}
	}
	t.inbox.close()
	w.refuseNotes()
	t.events.close()
}

// deliver makes the result final, and publishes it.
func (w *watcher) deliver(err error) {
	t := w.turn
	w.over(time.Now())
	var resultErr, sessionErr error
	if t.result, resultErr = w.report.Result(w.unjournaled); w.machine.Begun() { // else the journal was unreadable
		t.result.Session, sessionErr = w.sessionUpdate()
	}
	if err = errors.Join(err, resultErr, sessionErr); err == nil {
		err = w.afterTurn()
	}
	w.announce(err)
	w.refuseNotes()
}

// follow follows the journal, and passes interrupts and notes on.
func (w *watcher) follow(ctx context.Context) error {
	over := make(chan error, 1)
	waiting, stop := context.WithCancel(w.base)
	defer stop()
	read := newReadings()
	go func() { over <- w.remote.Wait(waiting, read.tell) }()
	defer context.AfterFunc(ctx, w.turn.Cancel)()
	for {
		var err error
		select {
		case err = <-over:
			return errors.Join(err, w.catchUp(), w.asking.stop())
		case <-read.due:
			began := time.Now()
			err = w.catchUp()
			w.asking.attend()
			read.rest(time.Since(began))
		case <-read.rested:
			read.resume()
		case <-w.turn.inbox.arrived:
			err = w.passOn()
		case err = <-w.asking.done:
			w.asking.ended()
			w.asking.attend() // the next one may be open already, and then the journal waits for its answer
		}
		if err != nil {
			stop()
			return errors.Join(err, <-over, w.asking.stop())
		}
	}
}

// catchUp applies the new events of the journal.
func (w *watcher) catchUp() error {
	events, err := readJournalFrom(w.base, w.panel.opts.Store, w.turn.session, w.turn.number, w.read)
	if err != nil {
		return fmt.Errorf("turn %s: %w", w.turn.ID(), err)
	}
	for _, ev := range events {
		if err := w.take(ev); err != nil {
			return fmt.Errorf("turn %s: event %d of its journal: %w", w.turn.ID(), w.read+1, err)
		}
		w.read++
	}
	return nil
}

// take applies an event, and replies to those who wait for it.
func (w *watcher) take(ev turn.Event) error {
	if _, ok := ev.(turn.Committed); ok { // the answer is out, and calls follow
		w.deliver(nil)
	}
	if err := w.apply(ev); err != nil {
		return err
	}
	if noted, ok := ev.(turn.Noted); ok {
		w.acknowledge(noted.ID)
	}
	// The process that plays the turn keeps summaries. The results of other sidecalls are kept
	// here too.
	if key, ok := turn.KeyOf(ev); ok && key.Purpose != effect.Summarizing {
		w.keep(ev)
	}
	return nil
}

// passOn passes a person's messages on.
func (w *watcher) passOn() (err error) {
	for _, p := range w.turn.inbox.take() {
		switch p := p.(type) {
		case *note:
			w.passNote(p)
		case *pausing:
			p.Reply(w.remote.SetPaused(w.base, p.pause))
		case *dismissal:
			w.passDismissal(p)
		case signal: // an interrupt
			err = errors.Join(err, w.remote.Interrupt(w.base))
		case departure:
			if !p.unlessAnswered {
				return ErrLeft
			}
			err = errors.Join(err, w.remote.Interrupt(w.base))
		}
	}
	return err
}

// passNote passes a note on. Its sender gets the reply when the journal has it.
func (w *watcher) passNote(n *note) {
	if w.turn.Status() != Running {
		n.Reply(driver.ErrOver)
		return
	}
	id := rand.Text()
	masked, err := stored(w.base, w.panel.opts.Store, n.text)
	if err == nil {
		err = w.remote.Note(w.base, id, masked)
	}
	if err != nil {
		n.Reply(err)
		return
	}
	w.passed = append(w.passed, passedNote{id, n})
}

// acknowledge replies to the sender of a note that the journal has.
func (w *watcher) acknowledge(id string) {
	if i := slices.IndexFunc(w.passed, func(p passedNote) bool { return p.id == id }); i >= 0 {
		w.passed[i].note.Reply(nil)
		w.passed = slices.Delete(w.passed, i, i+1)
	}
}

// refuseNotes replies to the passed notes that did not arrive before the end.
func (w *watcher) refuseNotes() {
	for _, p := range w.passed {
		p.note.Reply(driver.ErrOver)
	}
	w.passed = nil
}
