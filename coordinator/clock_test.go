package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/internal/kernel"
)

// TestTimeLeft is what is left of a turn's time, without that in which its clock stood still.
func TestTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock{rings: func() {}}
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
