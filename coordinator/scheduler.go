package coordinator

import (
	"context"

	"github.com/massgen/massgen/coordinator/turn"
)

// scheduler says what of a turn happens next. The goroutine that plays a turn calls it,
// and one may play several.
type scheduler interface {
	// launch begins an effect, or a question to a person; run comes back when its result was
	// taken.
	launch(e *engine, run func() error)
	// loop plays the turn until it is over and all that was launched has come back, or until
	// an error, after which drain waits for what is still out.
	loop(ctx context.Context, e *engine) error
	drain(e *engine) error
}

// goroutines is the scheduler of all panels: the processor's and the network's time
// decides.
type goroutines struct{}

func (goroutines) launch(e *engine, run func() error) { e.group.Go(run) }

// drain ends all effects that are out, and waits for them.
func (goroutines) drain(e *engine) error {
	for _, cancel := range append(e.cancel, e.asideCancel) {
		if cancel != nil {
			cancel()
		}
	}
	asks, ends := e.purse.channels()
	for e.out > 0 {
		select {
		case <-e.results:
			e.out--
		case a := <-asks:
			a.word <- spendWord{"the turn is over"}
		case s := <-ends:
			close(s.booked) // not in the journal: what was held stays spent
		}
	}
	// The effects have all reported, so this only waits for their goroutines to
	// return; none of them returns an error.
	return e.group.Wait()
}

func (goroutines) loop(ctx context.Context, e *engine) error {
	interrupted, cancelled := e.turn.interrupt, ctx.Done()
	asks, ends := e.purse.channels()
	for !e.over || e.out > 0 {
		var err error
		select {
		case r := <-e.results:
			e.out--
			err = e.took(r)
		case a := <-asks:
			err = e.tookAsk(a)
		case s := <-ends:
			err = e.tookSpendEnd(s)
		case n := <-e.turn.notes:
			err = e.tookNote(n)
		case <-e.timer.C:
			err = e.apply(turn.Woke{At: e.now()})
		case <-interrupted:
			interrupted, cancelled = nil, nil
			err = e.apply(turn.Interrupted{At: e.now()})
		case <-cancelled:
			interrupted, cancelled = nil, nil
			err = e.apply(turn.Interrupted{At: e.now()})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
