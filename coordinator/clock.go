package coordinator

import (
	"sync/atomic"
	"time"

	"github.com/massgen/massgen/internal/kernel"
)

// clock is that of a turn in this process: no time of the turn passes while it is stopped
// (DESIGN §6). It rings once, at wake; 0 is never.
type clock struct {
	// began is from when on it counts: a system's time that is set meanwhile changes nothing.
	began time.Time
	// slept is for how long it was stopped: by a person, which is paused, or since nobody was
	// at work on the turn before this process resumed it.
	slept, paused time.Duration
	stopped       time.Time // zero while it runs
	wake          kernel.Time
	timer         *time.Timer
	rings         func()
	// overAt is when the turn's time will be over as it runs now, in milliseconds; 0 is never,
	// or nobody knows. Calls read it.
	overAt atomic.Int64
}

func newClock(rings func()) clock { return clock{began: time.Now(), rings: rings} }

// endsAt notes when the turn's time is over, 0 for never.
func (c *clock) endsAt(at kernel.Time) {
	if at == 0 || !c.stopped.IsZero() {
		c.overAt.Store(0)
		return
	}
	c.overAt.Store(time.UnixMilli(int64(at)).Add(c.slept).UnixMilli())
}

// timeLeft is what is left of the turn's time, if that is limited. It may be called
// concurrently.
func (c *clock) timeLeft() (left time.Duration, limited bool) {
	over := c.overAt.Load()
	return time.UnixMilli(over).Sub(c.read()), over > 0
}

// read returns the time by a clock that nobody sets. It may be called concurrently.
func (c *clock) read() time.Time { return c.began.Add(time.Since(c.began)) }

// Now implements driver.Runtime.
func (c *clock) Now() kernel.Time {
	now := c.stopped
	if now.IsZero() {
		now = c.read()
	}
	return kernel.Time(now.Add(-c.slept).UnixMilli())
}

// Wake implements driver.Runtime. A timer that is replaced may ring all the same, which does
// no harm. While the clock is stopped Wake only notes the moment.
func (c *clock) Wake(at kernel.Time) {
	c.stopTimer()
	c.wake = at
	if c.stopped.IsZero() {
		c.timer = time.AfterFunc(time.UnixMilli(int64(at)).Add(c.slept).Sub(c.read()), c.rings)
	}
}

// Clock implements driver.Runtime.
func (c *clock) Clock(runs bool) {
	if !runs {
		c.stopped = c.read()
		c.overAt.Store(0)
		c.stopTimer()
		return
	}
	pause := c.read().Sub(c.stopped)
	c.slept, c.paused, c.stopped = c.slept+pause, c.paused+pause, time.Time{}
	if c.wake > 0 {
		c.Wake(c.wake)
	}
}

// stopTimer takes back the moment at which it rings.
func (c *clock) stopTimer() {
	if c.timer != nil {
		c.timer.Stop()
	}
}
