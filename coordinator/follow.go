package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// follower feeds the events of a journal to a fresh machine, and stops at the first call whose
// input differs from the recorded one (DESIGN §6).
type follower struct {
	machine *turn.Machine
	comparer
	// beside gets the comparisons, if it is not nil. Its owner waits for it at the end.
	beside *besideComparer
	// trusts turns comparing off.
	trusts bool
	// out are the effects and questions without a result so far, in the order of their
	// commands. keys are their keys.
	out  []driver.Work
	keys []effect.Key
	// events counts the events so far.
	events int
}

func newFollower(m *turn.Machine, texts sessions.Texts) *follower {
	return &follower{machine: m, comparer: comparer{inputs: agents.NewRebuilder(texts)}}
}

// follow feeds one event, and returns the machine's commands. An imported journal may contain
// anything: an event that breaks the machine is an error.
func (f *follower) follow(ctx context.Context, ev turn.Event) (commands []turn.Command, err error) {
	f.events++
	err = guarded(fmt.Sprintf("event %d of its journal", f.events), func() error {
		commands, err = f.feed(ctx, ev)
		return err
	})
	return commands, err
}

func (f *follower) feed(ctx context.Context, ev turn.Event) ([]turn.Command, error) {
	if done, ok := ev.(turn.ModelDone); ok && !f.trusts {
		if err := f.compare(ctx, done); err != nil {
			return nil, err
		}
	}
	commands, err := f.machine.Apply(ev)
	if err != nil {
		return nil, fmt.Errorf("event %d of its journal cannot follow those before it: %w", f.events, err)
	}
	if key, ok := turn.KeyOf(ev); ok {
		if i := slices.Index(f.keys, key); i >= 0 {
			f.out, f.keys = slices.Delete(f.out, i, i+1), slices.Delete(f.keys, i, i+1)
		}
	}
	for _, w := range driver.Asked(commands, f.machine) {
		f.out, f.keys = append(f.out, w), append(f.keys, w.Key())
	}
	return commands, nil
}

// compare compares a recorded call and its reply with a call that it builds and reads now. It ignores a
// result that nothing waits for: the machine refuses it.
func (f *follower) compare(ctx context.Context, done turn.ModelDone) error {
	w, asked := f.modelCall(done.Key)
	if !asked {
		return nil
	}
	call, _ := w.Effect.(effect.ModelCall)
	c := comparison{event: f.events, turn: w.Turn, call: call, reply: done.Reply}
	if f.beside != nil {
		f.beside.add(c)
		return nil
	}
	return f.comparer.compare(ctx, c)
}

// callKey returns the name of a call for people.
func callKey(described *effect.Turn, key effect.Key) backends.Key {
	named := backends.Key{Session: described.Session, Turn: described.Turn, Purpose: string(key.Purpose)}
	if key.Agent != effect.NoAgent {
		named.Agent, named.Round, named.Index = described.Agent(key.Agent).ID, key.Round, key.Index
	}
	return named
}

// differenceKind names the part that differs.
type differenceKind string

// The kinds of a Difference: the input of a call, the meaning of its reply to the rules, and
// the outcome of the turn.
const (
	InputDiffers  differenceKind = "input"
	replyDiffers  differenceKind = "reply"
	resultDiffers differenceKind = "result"
)

// Difference is the first place where a replayed journal differs from its recorded content. It is an
// error of Replay, Resume and Rerun.
type Difference struct {
	Kind differenceKind
	// Event is the place of the call's result in the journal, from 1. Event and Call are zero for a
	// difference in the turn's outcome.
	Event int
	Call  backends.Key
	// Recorded and Rebuilt are inputs, without headers and extra body. Lost is the reason why
	// parts of Recorded are missing.
	Recorded, Rebuilt backends.Request
	Lost              error
	// RecordedText and RebuiltText are a reply or an outcome, as JSON.
	RecordedText, RebuiltText string
}

// show sets the texts of the two values that differ.
func (d *Difference) show(recorded, rebuilt any) error {
	before, err := json.MarshalIndent(recorded, "", "  ")
	if err != nil {
		return err
	}
	after, err := json.MarshalIndent(rebuilt, "", "  ")
	d.RecordedText, d.RebuiltText = string(before), string(after)
	return err
}

func (d *Difference) Error() string {
	switch d.Kind {
	case InputDiffers:
		return fmt.Sprintf("event %d of its journal: the input of %s is not the one that was sent: this program, or its prompts, differ from those that sent it", d.Event, d.Call)
	case replyDiffers:
		return fmt.Sprintf("event %d of its journal: the reply of %s does not mean what it was taken for", d.Event, d.Call)
	}
	return "the turn does not end with the result that was stored"
}
