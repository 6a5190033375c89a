package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestLatenciesAreReadAsTheyAreWritten(t *testing.T) {
	for _, l := range []latency{{}, {500 * time.Millisecond, 0}, {300 * time.Millisecond, 1}, {time.Second, 0.5}} {
		if got, err := parseLatency(l.String()); err != nil || got != l {
			t.Errorf("%s is read as %+v, %v", l, got, err)
		}
	}
	for _, text := range []string{"", "500", "500ms-1", "lognormal-300ms", "lognormal-1-1", "lognormal-1s-x"} {
		if l, err := parseLatency(text); err == nil {
			t.Errorf("%q is read as %+v", text, l)
		}
	}
}

// The number of a request alone decides its latency.
func TestLognormalLatenciesAreDeterministic(t *testing.T) {
	l := latency{300 * time.Millisecond, 1}
	const requests = 10_001
	all := make([]time.Duration, requests)
	for number := range all {
		all[number] = l.of(number)
	}
	for number := requests - 1; number >= 0; number-- {
		if again := l.of(number); again != all[number] {
			t.Fatalf("request %d takes %s, and then %s", number, all[number], again)
		}
	}
	slices.Sort(all)
	// Half of them are below the median, and 84.13 % below the median times e.
	for _, c := range []struct{ share, want float64 }{{0.5, 0.3}, {0.8413, 0.3 * math.E}} {
		if got := all[int(c.share*requests)].Seconds(); math.Abs(got/c.want-1) > 0.05 {
			t.Errorf("%.2f of the latencies are below %.3f s, not %.3f s", c.share, got, c.want)
		}
	}
}

func TestConstantLatenciesAreConstant(t *testing.T) {
	l := latency{Median: 100 * time.Millisecond}
	for number := range 10 {
		if got := l.of(number); got != l.Median {
			t.Errorf("request %d takes %s", number, got)
		}
	}
}
