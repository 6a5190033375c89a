package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/driver"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/turn"
	"github.com/massgen/massgen/sessions"
)

// watchEvery is how often a journal is read that another process writes, and
// watchPatience how long the store may be away meanwhile.
const (
	watchEvery    = 250 * time.Millisecond
	watchPatience = 5 * time.Minute
)

// watched is the store of a turn that another process plays: while the store is away, what is
// read there is read again.
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

// watcher follows a turn that is played in another process, by the turn's journal, and passes
// on what people have to say to it. The goroutine of run owns it.
type watcher struct {
	*view
	play RemoteTurn
	// read counts the events of the journal that were applied.
	read int
	// passed are the notes that were passed on, and of which the journal does not tell yet.
	passed []passedNote
	asking *attendant
}

// passedNote is a note that was passed on to who plays the turn.
type passedNote struct {
	id   string
	word chan<- error
}

// watch has a play watched until it is over.
func (p *Panel) watch(ctx context.Context, t *Turn, play RemoteTurn) {
	v := newView(ctx, p.on(watched{p.opts.Store}), t, new(turn.Machine))
	w := &watcher{view: v, play: play, asking: newAttendant(v, play)}
	p.count(1)
	go func() {
		defer p.count(-1)
		w.run(ctx)
	}()
}

// run watches the turn until it is over. What goes wrong after its answer is told as an event.
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

// deliver makes the result final, and lets everybody know.
func (w *watcher) deliver(err error) {
	t := w.turn
	w.over(time.Now())
	var resultErr, sessionErr error
	if t.result, resultErr = w.report.Result(w.unjournaled); w.machine.Begun() { // else its journal could not be read
		t.result.Session, sessionErr = w.sessionUpdate()
	}
	if err = errors.Join(err, resultErr, sessionErr); err == nil {
		err = w.afterTurn()
	}
	w.announce(err)
	w.refuseNotes()
}

// follow follows the journal, and passes an interrupt and notes on.
func (w *watcher) follow(ctx context.Context) error {
	over := make(chan error, 1)
	waiting, stop := context.WithCancel(w.base)
	defer stop()
	go func() { over <- w.play.Wait(waiting) }()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	defer context.AfterFunc(ctx, w.turn.Cancel)()
	for {
		var err error
		select {
		case err = <-over:
			return errors.Join(err, w.catchUp(), w.asking.stop())
		case <-ticker.C:
			err = w.catchUp()
			w.asking.attend()
		case <-w.turn.inbox.arrived:
			err = w.passOn()
		case err = <-w.asking.done:
			w.asking.ended()
		}
		if err != nil {
			stop()
			return errors.Join(err, <-over, w.asking.stop())
		}
	}
}

// catchUp applies the events of the journal that are new.
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

// take applies an event, and lets those know who wait for it.
func (w *watcher) take(ev turn.Event) error {
	if _, ok := ev.(turn.Committed); ok { // its answer is out, and calls follow
		w.deliver(nil)
	}
	if err := w.apply(ev); err != nil {
		return err
	}
	if noted, ok := ev.(turn.Noted); ok {
		w.acknowledge(noted.ID)
	}
	// A summary is kept where the turn is played. What else a call that belongs to no agent
	// came to is kept here, too.
	if key, ok := turn.KeyOf(ev); ok && key.Purpose != machine.Summarizing {
		w.keep(ev)
	}
	return nil
}

// passOn passes on what people have to say.
func (w *watcher) passOn() (err error) {
	for _, p := range w.turn.inbox.take() {
		switch p := p.(type) {
		case *note:
			w.passNote(p)
		case *pausing:
			p.Reply(w.play.SetPaused(w.base, p.pause))
		case *dismissal:
			w.passDismissal(p)
		case interrupt:
			err = errors.Join(err, w.play.Interrupt(w.base))
		}
	}
	return err
}

// passNote passes a note on. Its word is said when the journal has it.
func (w *watcher) passNote(n *note) {
	if w.turn.Status() != Running {
		n.Reply(driver.ErrOver)
		return
	}
	id := rand.Text()
	masked, err := stored(w.base, w.panel.opts.Store, n.text)
	if err == nil {
		err = w.play.Note(w.base, id, masked)
	}
	if err != nil {
		n.Reply(err)
		return
	}
	w.passed = append(w.passed, passedNote{id, n.word})
}

// acknowledge replies to the sender of a note that the journal has.
func (w *watcher) acknowledge(id string) {
	if i := slices.IndexFunc(w.passed, func(p passedNote) bool { return p.id == id }); i >= 0 {
		w.passed[i].word <- nil
		w.passed = slices.Delete(w.passed, i, i+1)
	}
}

// refuseNotes replies to those that were passed on and did not come before the end.
func (w *watcher) refuseNotes() {
	for _, n := range w.passed {
		n.word <- driver.ErrOver
	}
	w.passed = nil
}
