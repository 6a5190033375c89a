// Package linear tells work that grows with the length of its input from work that grows
// with the square of it, on a machine that is busy or slow as well.
package linear

import (
	"runtime"
	"testing"
	"time"
)

// Check fails a test if work on an input of length 4n takes over nine times as long as on
// one of length n: linear work takes some four times as long, quadratic work sixteen times.
// It compares the time of one thread, of which other processes take nothing, and the best
// of five runs. Work runs on the calling goroutine.
func Check(t testing.TB, n int, work func(n int)) {
	t.Helper()
	short, long := best(n, work), best(4*n, work)
	if ratio := float64(long) / float64(max(short, time.Microsecond)); ratio > 9 {
		t.Errorf("for a length of %d it takes %v, and %.1f times as long for four times the length", n, short, ratio)
	}
}

func best(n int, work func(n int)) time.Duration {
	least := time.Duration(1<<63 - 1)
	for range 5 {
		least = min(least, Time(func() { work(n) }))
	}
	return least
}

// Time returns the time that a processor spends on work, which runs on the calling goroutine. The work of other
// processes does not count.
func Time(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	work()
	return threadTime() - start
}
