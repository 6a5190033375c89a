// Package linear tells work that grows with the length of its input from work that grows
// with the square of it, on a machine that is busy or slow as well.
package linear

import (
	"math"
	"runtime"
	"testing"
	"time"
)

// Check fails a test if work on an input of length 4n takes over nine times as long as on
// one of length n: linear work takes some four times as long, quadratic work sixteen times.
// It compares the time of one thread, of which other processes take nothing, and the best
// of five runs; the longer ones, only until one is fast enough. Work runs on the calling goroutine.
func Check(t testing.TB, n int, work func(n int)) {
	t.Helper()
	const runs = 5
	short, long := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range runs {
		short = min(short, Time(func() { work(n) }))
	}
	ratio := math.Inf(1)
	for i := 0; i < runs && ratio > 9; i++ {
		long = min(long, Time(func() { work(4 * n) }))
		ratio = float64(long) / float64(max(short, time.Microsecond))
	}
	if ratio > 9 {
		t.Errorf("for a length of %d it takes %v, and %.1f times as long for four times the length", n, short, ratio)
	}
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
