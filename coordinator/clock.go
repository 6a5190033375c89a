package coordinator

import (
	"sync/atomic"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// clock is the clock of a turn in this process: the turn's time stands still while the clock is
// stopped (DESIGN §6). It rings once, at wake, or never if wake is 0.
type clock struct {
	// began is the start of the count, on the monotonic clock: setting the system's time
	// changes nothing.
	began time.Time
	// slept is how long the clock was stopped, by a person or before this process resumed the
	// turn. paused is the time for which a person stopped it.
	slept, paused time.Duration
	stopped       time.Time // zero while it runs
	wake          kernel.Time
	timer         *time.Timer
	rings         func()
	// overAt is the end of the turn's time at the present pace, in milliseconds; 0 means never
	// or unknown. Calls read it.
	overAt atomic.Int64
}

func newClock(rings func()) clock { return clock{began: time.Now(), rings: rings} }

// endsAt sets the end of the turn's time, 0 for never.
func (c *clock) endsAt(at kernel.Time) {
	if at == 0 || !c.stopped.IsZero() {
		c.overAt.Store(0)
		return
	}
	c.overAt.Store(time.UnixMilli(int64(at)).Add(c.slept).UnixMilli())
}

// timeLeft returns the rest of the turn's time, if that is limited. It may be called
// concurrently.
func (c *clock) timeLeft() (left time.Duration, limited bool) {
	over := c.overAt.Load()
	return time.UnixMilli(over).Sub(c.read()), over > 0
}

// read returns the time by the monotonic clock. It may be called concurrently.
func (c *clock) read() time.Time { return c.began.Add(time.Since(c.began)) }

// Now implements driver.Runtime.
func (c *clock) Now() kernel.Time {
	now := c.stopped
	if now.IsZero() {
		now = c.read()
	}
	return kernel.Time(now.Add(-c.slept).UnixMilli())
}

// Wake implements driver.Runtime. A replaced timer may still ring, which does no harm. While
// the clock is stopped, Wake only records the moment.
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

// stopTimer cancels the timer.
func (c *clock) stopTimer() {
	if c.timer != nil {
		c.timer.Stop()
	}
}
