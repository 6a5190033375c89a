package linear

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is for how long the calling thread has run.
func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err) // every Linux has this clock
	}
	return time.Duration(now.Nano())
}
