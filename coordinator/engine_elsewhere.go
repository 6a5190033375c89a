package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/budget"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// Engine plays turns in other processes, which share the panel's store and have panels of
// the same agents. It is safe for concurrent use.
type Engine interface {
	// Begin has the next turn of a session begun. It returns when the turn's journal has its first event. When ctx is done before, the turn
	// is not begun, or is interrupted.
	Begin(ctx context.Context, session, question string, terms Terms) (Play, error)
	// Attach returns the turn that is being played in a session. The error is
	// sessions.ErrNoSession if there is none.
	Attach(ctx context.Context, session string) (Play, error)
}

// Terms are what a turn is to be played by, beside its question: those of whoever asks it.
type Terms struct {
	// Config is Options.Config: only a panel with the same one plays the turn.
	Config string        `json:"config,omitempty"`
	Rules  kernel.Config `json:"rules"`
	Budget budget.Budget `json:"budget"`
}

// Play is a turn that an Engine plays. It is safe for concurrent use.
type Play interface {
	// Number is the turn's place in its session.
	Number() int
	Signals
	// Wait returns when the turn is over and its result is in the store.
	Wait(ctx context.Context) error
}

// Signals are what a person has to say to a turn that an Engine plays.
type Signals interface {
	// Interrupt ends the turn with the best answer so far.
	Interrupt(ctx context.Context) error
	// Note passes on what is added to the question. The journal tells whether it came before
	// the end, which is driver.ErrOver if that is known at once.
	Note(ctx context.Context, note string) error
	// SetPaused pauses the turn, or lets it go on. It returns when who plays the turn was
	// told. The error is driver.ErrOver if the turn is known to be over.
	SetPaused(ctx context.Context, pause bool) error
}

// watchEvery is how often the journal of a turn that is played elsewhere is read, and
// watchPatience how long the store may be away meanwhile.
const (
	watchEvery    = 250 * time.Millisecond
	watchPatience = 5 * time.Minute
)

// watched is the store of a turn that is played elsewhere: what is read there is read again
// while the store is away.
type watched struct{ Store }

// Get implements agents.Blobs.
func (s watched) Get(ctx context.Context, ref kernel.Ref) ([]byte, error) {
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

// startElsewhere has a turn played by Options.Engine.
func (p *Panel) startElsewhere(ctx context.Context, session, question string) (*Turn, error) {
	masked, _, err := stored(ctx, p.opts.Store, question)
	if err != nil {
		return nil, fmt.Errorf("begin a turn of session %s: %w", session, err)
	}
	play, err := p.opts.Engine.Begin(ctx, session, masked, Terms{p.opts.Config, p.opts.Rules, p.opts.Budget})
	if err != nil {
		return nil, fmt.Errorf("begin a turn of session %s: %w", session, err)
	}
	t := newTurn(session, play.Number(), question)
	if p.opts.BeforeTurn != nil {
		if err := p.opts.BeforeTurn(ctx, t); err != nil {
			return nil, errors.Join(fmt.Errorf("before turn %d: %w", t.number, err), play.Interrupt(context.WithoutCancel(ctx)))
		}
	}
	p.watch(ctx, t, play)
	return t, nil
}

// stored is a text as the store has it, which keeps no secrets: no engine is sent one.
func stored(ctx context.Context, store agents.Blobs, text string) (masked string, ref kernel.Ref, err error) {
	if ref, err = store.Put(ctx, []byte(text)); err != nil {
		return "", ref, err
	}
	data, err := store.Get(ctx, ref)
	return string(data), ref, err
}

// attach watches the turn that is played in a session already.
func (p *Panel) attach(ctx context.Context, session string) (*Turn, error) {
	if !p.opts.Override.None() {
		return nil, fmt.Errorf("resume session %s: the budget of a turn that is played elsewhere cannot be changed: leave the limits out", session)
	}
	play, err := p.opts.Engine.Attach(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("resume session %s: %w", session, err)
	}
	var t *Turn
	events, err := readJournal(ctx, p.opts.Store, session, play.Number())
	if err == nil {
		t, err = p.begun(ctx, session, play.Number(), events)
	}
	if err != nil {
		return nil, fmt.Errorf("resume turn %d of session %s: %w", play.Number(), session, err)
	}
	p.watch(ctx, t, play)
	return t, nil
}

// watch sets an engine going that plays nothing and follows a play.
func (p *Panel) watch(ctx context.Context, t *Turn, play Play) {
	t.tools = make([][]agents.Tool, len(p.opts.Agents)) // they are where the turn is played
	e := newEngine(ctx, p.on(watched{p.opts.Store}), t)
	p.count(1)
	go func() {
		defer p.count(-1)
		e.watch(ctx, play)
	}()
}

// watch tells of a turn that is played elsewhere, from its journal, until it is over. What
// goes wrong after its answer is told as an event.
func (e *engine) watch(ctx context.Context, play Play) {
	t := e.turn
	err := e.watchJournal(ctx, play)
	if t.Status() == Running {
		e.deliver(err)
	} else {
		if err == nil {
			_, err = e.tellSession()
		}
		if err != nil {
			t.events.add(report.AsideFailed{Why: err.Error()})
		}
	}
	t.inbox.close()
	e.refuseNotes()
	t.events.close()
}

// deliver makes the result final, and lets everybody know.
func (e *engine) deliver(err error) {
	t := e.turn
	t.ended = time.Now()
	var resultErr, sessionErr error
	if t.result, resultErr = e.result(); e.machine.Begun() { // else its journal could not be read
		t.result.Session, sessionErr = e.tellSession()
	}
	if err = errors.Join(err, resultErr, sessionErr); err == nil {
		err = e.afterTurn()
	}
	e.announce(err)
	e.refuseNotes()
}

// watchJournal follows the journal, and passes an interrupt and notes on.
func (e *engine) watchJournal(ctx context.Context, play Play) error {
	over := make(chan error, 1)
	waiting, stop := context.WithCancel(e.base)
	defer stop()
	go func() { over <- play.Wait(waiting) }()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	defer context.AfterFunc(ctx, e.turn.Cancel)()
	asking := newAttendant(e, play)
	applied := 0
	for {
		var err error
		select {
		case err = <-over:
			_, readErr := e.catchUp(applied)
			return errors.Join(err, readErr, asking.stop())
		case <-ticker.C:
			applied, err = e.catchUp(applied)
			asking.attend()
		case <-e.turn.inbox.arrived:
			err = e.passOn(play)
		case err = <-asking.done:
			asking.ended()
		}
		if err != nil {
			stop()
			return errors.Join(err, <-over, asking.stop())
		}
	}
}

// passOn passes on what people have to say.
func (e *engine) passOn(play Play) (err error) {
	for _, p := range e.turn.inbox.take() {
		switch p := p.(type) {
		case *note:
			e.passNote(play, p)
		case *pausing:
			p.Reply(play.SetPaused(e.base, p.pause))
		case interrupt:
			err = errors.Join(err, play.Interrupt(e.base))
		}
	}
	return err
}

// catchUp applies the events of the journal from a place on, and returns where it ends.
func (e *engine) catchUp(from int) (int, error) {
	events, err := readJournalFrom(e.base, e.panel.opts.Store, e.turn.session, e.turn.number, from)
	if err != nil {
		return from, fmt.Errorf("turn %s: %w", e.turn.ID(), err)
	}
	for i, ev := range events {
		if _, ok := ev.(turn.Committed); ok { // its answer is out, and calls follow
			e.deliver(nil)
		}
		if err := e.tellOf(ev); err != nil {
			return from + i, fmt.Errorf("turn %s: event %d of its journal: %w", e.turn.ID(), from+i+1, err)
		}
		e.hear(ev)
	}
	return from + len(events), nil
}

// tellOf applies an event of a turn that is played elsewhere, and tells of what follows.
func (e *engine) tellOf(ev turn.Event) error {
	commands, err := e.machine.Apply(ev)
	if err != nil {
		return err
	}
	e.Tell(ev, commands)
	return nil
}

// hear lets whoever keeps what an aside has come to know of it, where its turn is watched.
// A summary is nobody's but the store's, in which it is kept where the turn is played.
func (e *engine) hear(ev turn.Event) {
	if key, ok := turn.KeyOf(ev); ok && key.Purpose != machine.Summarizing {
		e.keep(ev)
	}
}
