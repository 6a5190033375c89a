package driver

import (
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/turn"
)

// ErrOver is the reply to a post that comes after the end of its turn.
var ErrOver = errors.New("the turn is over")

// Post is something that happened outside of the turn's machine: a result, a note, a
// permission, a request for budget, the clock, an interrupt.
type Post interface {
	// Events returns it as events of a moment, none if it comes too late to change
	// anything. The driver calls it once, with the machine as everything before has left it.
	// An error ends the turn.
	Events(at kernel.Time) ([]turn.Event, error)
	// Reply is called once and must not wait: with nil when the events are durable and
	// applied, else with the reason why they are not.
	Reply(err error)
	// EndsWork says that it is the one result of work that the runtime was told to start.
	EndsWork() bool
}

// Work is what a runtime starts: an effect, or a question to a person. It has one result.
type Work struct {
	Effect     machine.Effect // nil for a question
	Permission *machine.PermissionRequest
	// Turn is what the effect's input is built from, as it was when the machine asked for
	// the effect.
	Turn machine.Turn
	// Again says that a process that was lost may have done it already.
	Again bool
}

// Key returns the key of the effect or of the question.
func (w Work) Key() machine.Key {
	if w.Permission != nil {
		return w.Permission.Key
	}
	return w.Effect.EffectKey()
}

// Runtime is what a driver needs of the world. The driver calls its methods from one
// goroutine, and none of them waits for a post.
type Runtime interface {
	// Now returns the time of the turn, in which no time passes while no process plays it.
	Now() kernel.Time
	// Append adds events to the turn's journal, all or none. They are durable when it returns.
	Append(events []turn.Event) error
	// Start starts work whose result comes as one post, also after a failure or a cancel.
	Start(w Work)
	// Begin opens a step of an agent. Cancel asks the work of that step to end soon, also what
	// is started after it; machine.NoAgent stands for the work that belongs to none.
	Begin(agent int)
	Cancel(agent int)
	// Wake posts a turn.Woke at a moment, in place of the one asked for before.
	Wake(at kernel.Time)
	// Clock stops the clock of Now and Wake, or starts it again.
	Clock(runs bool)
	// Grant answers a request for budget: refused says why the attempt may not be sent, and
	// is empty if it may, with so many tokens of output less than it asked for.
	Grant(key machine.Key, less int, refused string)
	// Tell passes on an event that is durable, and what the machine commanded, before that is
	// carried out, to those who watch the turn.
	Tell(ev turn.Event, commands []turn.Command)
}

// Driver plays one turn. One goroutine owns it.
type Driver struct {
	machine turn.Machine
	runtime Runtime
	out     int
}

// New returns a driver whose turn has not begun.
func New(r Runtime) *Driver { return &Driver{runtime: r} }

// Machine returns the turn's machine. Only the goroutine that owns the driver may read it,
// and nobody else may apply events to it but who replays a journal, which Carry follows.
func (d *Driver) Machine() *turn.Machine { return &d.machine }

// Out counts the work that the runtime was told to start and that has no result yet.
func (d *Driver) Out() int { return d.out }

// Done says that the turn is over and all work has ended.
func (d *Driver) Done() bool { return d.machine.Over() && d.out == 0 }

// Play takes batches of posts until the turn is over and all work has ended. receive waits
// for posts and returns all that there are. After an error Drain must follow.
func (d *Driver) Play(receive func() []Post) error {
	for !d.Done() {
		if err := d.Take(receive()...); err != nil {
			return err
		}
	}
	return nil
}

// Drain waits for all work that has not ended, and applies nothing any more.
func (d *Driver) Drain(receive func() []Post) {
	for d.out > 0 {
		for _, p := range receive() {
			if p.EndsWork() {
				d.out--
			}
			p.Reply(ErrOver)
		}
	}
}

// applied is an event of a batch with what the machine commanded.
type applied struct {
	event    turn.Event
	commands []turn.Command
	turn     machine.Turn
}

// Take takes posts as one batch: it applies them in order, journals their events in one
// transaction, and only then does what follows. What stands before a post that fails is
// journaled all the same, since it may have been paid for.
func (d *Driver) Take(posts ...Post) error {
	var batch []applied
	var err error
	taken := 0
	for _, p := range posts {
		if p.EndsWork() {
			d.out--
		}
		if err == nil {
			if batch, err = d.apply(batch, p); err == nil {
				taken++
			}
		}
	}
	appendErr := d.journal(batch)
	if appendErr == nil {
		for _, a := range batch {
			for _, w := range d.Carry(a.event, a.commands, a.turn) {
				d.Start(w)
			}
		}
	}
	for i, p := range posts {
		switch {
		case appendErr != nil:
			p.Reply(appendErr)
		case i < taken:
			p.Reply(nil)
		default:
			p.Reply(err)
		}
	}
	return errors.Join(err, appendErr)
}

// apply applies the events of one post, and adds them to a batch.
func (d *Driver) apply(batch []applied, p Post) ([]applied, error) {
	events, err := p.Events(d.runtime.Now())
	if err != nil {
		return batch, err
	}
	for _, ev := range events {
		commands, err := d.machine.Apply(ev)
		if err != nil {
			return batch, err
		}
		batch = append(batch, applied{ev, commands, d.machine.Turn()})
	}
	return batch, nil
}

func (d *Driver) journal(batch []applied) error {
	if len(batch) == 0 {
		return nil
	}
	events := make([]turn.Event, len(batch))
	for i, a := range batch {
		events[i] = a.event
	}
	if err := d.runtime.Append(events); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Carry carries out what an event commanded but for the work that it asks for, which it
// returns. This is the one place that knows every command.
func (d *Driver) Carry(ev turn.Event, commands []turn.Command, described machine.Turn) []Work {
	d.runtime.Tell(ev, commands)
	for _, c := range commands {
		switch c := c.(type) {
		case turn.StepStarted:
			d.runtime.Begin(c.Agent)
		case turn.Cancel:
			d.runtime.Cancel(c.Agent)
		case turn.StepEnded:
			d.runtime.Cancel(c.Agent)
		case turn.Wake:
			d.runtime.Wake(c.At)
		case turn.Clock:
			d.runtime.Clock(c.Runs)
		case turn.Granted:
			d.runtime.Grant(c.Key, c.Less, "")
		case turn.Refused:
			d.runtime.Grant(c.Key, 0, c.Why)
		}
	}
	return Asked(commands, described)
}

// Asked returns the work that commands ask for, in their order.
func Asked(commands []turn.Command, described machine.Turn) (list []Work) {
	for _, c := range commands {
		if run, ok := c.(turn.Run); ok {
			list = append(list, Work{Effect: run.Effect, Turn: described})
		}
		if ask, ok := c.(turn.RequestPermission); ok {
			list = append(list, Work{Permission: &ask.Request, Turn: described})
		}
	}
	return list
}

// Start starts work. A question that was taken back meanwhile, in the same batch or in a
// journal that ends before its answer, is not put: its agent may be in another step.
func (d *Driver) Start(w Work) {
	if w.Permission != nil && !d.machine.IsPermissionOpen(w.Permission.Key) {
		return
	}
	d.out++
	d.runtime.Start(w)
}
