package coordinator

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"golang.org/x/sync/errgroup"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/sessions"
)

// comparison is a model call of a journal, with the place of its result there, from 1.
type comparison struct {
	event int
	turn  *effect.Turn
	call  effect.ModelCall
	reply effect.ModelReply
}

// comparer compares recorded calls with calls that are built and read now. One goroutine uses
// it.
type comparer struct {
	inputs *agents.Rebuilder
	// rereads says that replies are compared too.
	rereads bool
	// checked counts the inputs that were compared, unchecked those that the journal has no
	// record of.
	checked, unchecked int
}

// compare returns a *Difference, or an error with the event's place.
func (c *comparer) compare(ctx context.Context, of comparison) error {
	err := c.compareCall(ctx, of)
	if err == nil || errors.As(err, new(*Difference)) { // a Difference names the event itself
		return err
	}
	return fmt.Errorf("event %d of its journal: %w", of.event, err)
}

func (c *comparer) compareCall(ctx context.Context, of comparison) error {
	if err := c.compareInput(ctx, of); err != nil {
		return err
	}
	if !c.rereads {
		return nil
	}
	again, err := c.inputs.Reply(ctx, of.turn, of.call, of.reply)
	if err != nil {
		return err
	}
	return compareReply(of, again)
}

func (c *comparer) compareInput(ctx context.Context, of comparison) error {
	sent := of.reply.Sent
	if sent == nil {
		c.unchecked++
		return nil
	}
	req, err := c.inputs.Input(ctx, of.turn, of.call)
	if err != nil {
		return err
	}
	digest, err := req.Digest()
	if err != nil {
		return err
	}
	if digest == sent.Digest {
		c.checked++
		return nil
	}
	d := &Difference{Event: of.event, Kind: InputDiffers, Call: req.Key, Rebuilt: req}
	d.Recorded, d.Lost = c.inputs.Recorded(ctx, *sent)
	d.Recorded.Key = req.Key
	return d
}

func compareReply(of comparison, again effect.ModelReply) error {
	if reflect.DeepEqual(of.reply, again) { // a nil list differs from an empty one
		return nil
	}
	d := &Difference{Event: of.event, Kind: replyDiffers, Call: callKey(of.turn, of.call.Key)}
	if err := d.show(of.reply, again); err != nil {
		return fmt.Errorf("encode the reply of %s: %w", of.call.Key, err)
	}
	if d.RecordedText == d.RebuiltText {
		return nil
	}
	return d
}

// besideComparer compares in goroutines of its own while the machine is fed. They share the work, since
// to build a call and to read its reply takes twice as long as to feed the machine.
type besideComparer struct {
	comparisons chan comparison
	workers     []*comparer
	running     errgroup.Group
}

// compareBeside starts goroutines that compare. They use c until wait returns.
func compareBeside(ctx context.Context, c *comparer, texts sessions.Texts) *besideComparer {
	second := &comparer{inputs: agents.NewRebuilder(texts), rereads: c.rereads}
	b := &besideComparer{comparisons: make(chan comparison, 64), workers: []*comparer{c, second}}
	for _, w := range b.workers {
		b.running.Go(func() (err error) {
			for of := range b.comparisons {
				if err == nil {
					err = guarded(fmt.Sprintf("event %d of its journal", of.event), func() error { return w.compare(ctx, of) })
				}
			}
			return err
		})
	}
	return b
}

func (b *besideComparer) add(of comparison) { b.comparisons <- of }

// wait ends the comparisons, and returns the error of the worker that failed first.
func (b *besideComparer) wait() error {
	close(b.comparisons)
	err := b.running.Wait()
	c, second := b.workers[0], b.workers[1]
	c.checked, c.unchecked = c.checked+second.checked, c.unchecked+second.unchecked
	return err
}
