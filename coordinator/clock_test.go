package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// TestTimeLeft is what is left of a turn's time, without that in which its clock stood still.
func TestTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(func() {})
		want := func(want time.Duration, wantLimited bool) {
			t.Helper()
			if left, limited := c.timeLeft(); limited != wantLimited || limited && left.Round(time.Millisecond) != want {
				t.Errorf("%v are left, limited: %t; want %v, %t", left, limited, want, wantLimited)
			}
		}
		c.endsAt(0)
		want(0, false)
		end := c.Now() + kernel.Time(time.Minute.Milliseconds())
		c.endsAt(end)
		want(time.Minute, true)
		time.Sleep(10 * time.Second)
		want(50*time.Second, true)
		c.Clock(false)
		want(0, false) // nobody knows for how long
		c.endsAt(end)
		want(0, false)
		time.Sleep(time.Hour)
		c.Clock(true)
		c.endsAt(end)
		want(50*time.Second, true)
	})
}

// A turn whose system's time is set back before another process goes on with it has what is
// left of its time, and not that and what the clock went back.
func TestTurnThatIsResumedInThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := backend(func(ctx context.Context, _ backends.Request) error {
			<-ctx.Done()
			return ctx.Err()
		})
		p, store := panelOf(t, 2, agree, map[int]backends.Backend{0: hangs, 1: hangs}, func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.TurnLimit = time.Minute
		})
		wait(t, start(t, p, "energy"))
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := turn.Decode(journal[0])
		if err != nil {
			t.Fatal(err)
		}
		accepted, _ := ev.(turn.Accepted)
		accepted.At = kernel.Time(time.Now().Add(24 * time.Hour).UnixMilli())
		if journal[0], err = turn.Encode(accepted); err != nil {
			t.Fatal(err)
		}
		leaveTurn(t, store, "later", "energy", journal[0])
		resumed, err := p.Resume(t.Context(), "later")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r := wait(t, resumed)
		if took := time.Since(began); took.Round(time.Second) != time.Minute || r.DurationMS < 60_000 || r.DurationMS > 61_000 {
			t.Errorf("it took %v, and says %d ms; want a minute", took, r.DurationMS)
		}
	})
}
