package driver

import (
	"errors"
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// ErrOver is the reply to a post that comes after the end of its turn.
var ErrOver = errors.New("the turn is over")

// Post is an event from outside the turn's machine: a result, a note, a permission, a request
// for budget, the clock, an interrupt.
type Post interface {
	// Events returns the post as events of a moment, or nothing if the post comes too late to
	// change anything. The driver calls it once, when the machine has applied everything before. An
	// error ends the turn.
	Events(at kernel.Time) ([]turn.Event, error)
	// Reply is called once and must not block: with nil when the events are durable and
	// applied, else with the reason why they are not.
	Reply(err error)
	// EndsWork reports whether the post is the one result of work that the runtime was told to
	// start.
	EndsWork() bool
}

// Work is work for a runtime: an effect, or a question to a person. It has one result.
type Work struct {
	Effect     effect.Effect // nil for a question
	Permission *effect.PermissionRequest
	// Turn is the description from which the effect's input is built, as it was at the
	// machine's command. Work of one moment shares it, so nobody may change it.
	Turn *effect.Turn
	// Again reports whether a lost process may have done the work already.
	Again bool
}

// Key returns the key of the effect or of the question.
func (w Work) Key() effect.Key {
	if w.Permission != nil {
		return w.Permission.Key
	}
	return w.Effect.EffectKey()
}

// Runtime is the driver's view of the world. The driver calls its methods in the goroutine of its own
// caller, and they do not wait for a post.
type Runtime interface {
	// Now returns the turn's time, which stands still while no process plays the turn.
	Now() kernel.Time
	// Applied takes an event that the machine has just applied, with its commands. Nobody may be told of
	// the event before Append has made it durable.
	Applied(ev turn.Event, commands []turn.Command)
	// Append adds events to the turn's journal, all or none. They are durable when it returns. last
	// reports whether the turn is over after them and no work is out.
	Append(events []turn.Event, last bool) error
	// Start starts work. Its result comes as one post, also after a failure or a cancel.
	Start(w Work)
	// Begin opens a step of an agent. Cancel asks the work of that step to end soon, including
	// work that is started later; effect.NoAgent stands for the work that belongs to no agent.
	Begin(agent int)
	Cancel(agent int)
	// Wake posts a kernel.Woke at a moment. It replaces the moment of an earlier call.
	Wake(at kernel.Time)
	// Clock stops the clock of Now and Wake, or starts it again.
	Clock(runs bool)
	// Grant answers a request for budget. refused is the reason why the attempt may not be
	// sent. If it is empty, the attempt may be sent, with its output shortened by less tokens.
	Grant(key effect.Key, less int, refused string)
}

// Driver plays one turn. One goroutine at a time may use it.
type Driver struct {
	machine turn.Machine
	runtime Runtime
	out     int
	failed  bool
}

// New returns a driver whose turn has not begun.
func New(r Runtime) *Driver { return &Driver{runtime: r} }

// Machine returns the turn's machine. Only the goroutine that uses the driver may read it.
// Apart from the driver, only a replay of a journal may apply events to it, each followed by
// Carry.
func (d *Driver) Machine() *turn.Machine { return &d.machine }

// Out counts the started work that has no result yet.
func (d *Driver) Out() int { return d.out }

// Done reports whether all work has ended, and the turn is over or has failed.
func (d *Driver) Done() bool { return d.out == 0 && (d.failed || d.machine.Over()) }

// Play takes posts as one batch, as Handle does. The batch may be the turn's last. If a batch of Play
// has failed, Play applies nothing any more: it replies ErrOver, and counts the work that ends.
func (d *Driver) Play(posts []Post) error {
	if d.failed {
		for _, p := range posts {
			if p.EndsWork() {
				d.out--
			}
			p.Reply(ErrOver)
		}
		return nil
	}
	err := d.handle(true, posts)
	d.failed = err != nil
	return err
}

// applied holds a batch's events, and what follows from each of them.
type applied struct {
	events  []turn.Event
	follows []consequence
}

// consequence is the machine's commands, and the work that they request.
type consequence struct {
	commands []turn.Command
	work     []Work
}

// Handle takes posts as one batch: it applies them in order, journals their events in one
// transaction, and only then executes the commands. If a post fails, the posts before it are
// journaled all the same, since they may have been paid for. The turn goes on after the batch: the caller
// starts lost work again, or calls Play.
func (d *Driver) Handle(posts ...Post) error { return d.handle(false, posts) }

// handle does what Handle does. mayEnd reports whether the batch may be the turn's last.
func (d *Driver) handle(mayEnd bool, posts []Post) error {
	var batch applied
	var err error
	taken := 0
	for _, p := range posts {
		if p.EndsWork() {
			d.out--
		}
		if err == nil {
			if err = d.apply(&batch, p); err == nil {
				taken++
			}
		}
	}
	asksForWork := slices.ContainsFunc(batch.follows, func(c consequence) bool { return len(c.work) > 0 })
	appendErr := d.journal(batch.events, mayEnd && err == nil && d.Done() && !asksForWork)
	if appendErr == nil {
		for _, c := range batch.follows {
			d.Carry(c.commands)
			for _, w := range c.work {
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
func (d *Driver) apply(batch *applied, p Post) error {
	events, err := p.Events(d.runtime.Now())
	if err != nil {
		return err
	}
	for _, ev := range events {
		commands, err := d.machine.Apply(ev)
		if err != nil {
			return err
		}
		d.runtime.Applied(ev, commands)
		batch.events = append(batch.events, ev)
		batch.follows = append(batch.follows, consequence{commands, Asked(commands, &d.machine)})
	}
	return nil
}

func (d *Driver) journal(events []turn.Event, last bool) error {
	if len(events) == 0 {
		return nil
	}
	return d.runtime.Append(events, last)
}

// Carry executes the commands of a durable event, except the work that they request, which Asked
// returns.
func (d *Driver) Carry(commands []turn.Command) {
	for _, c := range commands {
		switch c := c.(type) {
		case turn.StepStarted:
			d.runtime.Begin(c.Agent)
		case kernel.Cancel:
			d.runtime.Cancel(c.Agent)
		case turn.StepEnded:
			d.runtime.Cancel(c.Agent)
		case kernel.Wake:
			d.runtime.Wake(c.At)
		case turn.Clock:
			d.runtime.Clock(c.Runs)
		case turn.Granted:
			d.runtime.Grant(c.Key, c.Less, "")
		case turn.Refused:
			d.runtime.Grant(c.Key, 0, c.Why)
		}
	}
}

// Asked returns the work that commands request, in their order. m is the machine that has just
// given them.
func Asked(commands []turn.Command, m *turn.Machine) (list []Work) {
	var described *effect.Turn
	add := func(w Work) {
		if described == nil {
			described = new(*m.Turn())
		}
		w.Turn = described
		list = append(list, w)
	}
	for _, c := range commands {
		if run, ok := c.(turn.Run); ok {
			add(Work{Effect: run.Effect})
		}
		if asks, ok := c.(turn.RequestPermission); ok {
			request := asks.Request
			add(Work{Permission: &request})
		}
	}
	return list
}

// Start starts work. It does not put a question that was withdrawn meanwhile, in the same batch
// or in a journal that ends before its answer: the question's agent may be in another step.
func (d *Driver) Start(w Work) {
	if w.Permission != nil && !d.machine.IsPermissionOpen(w.Permission.Key) {
		return
	}
	d.out++
	d.runtime.Start(w)
}
