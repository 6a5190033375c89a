package main

import (
	"strings"
	"testing"
	"time"
)

func wallOfRuns(agents int, program, bare []time.Duration) wallResult {
	w := wallResult{wallCase: wallCase{agents, latency{Median: 500 * time.Millisecond}, len(program)}, Critical: time.Second, Calls: 2 * agents, Bytes: 9468}
	for i := range program {
		w.Program = append(w.Program, measurement{Wall: program[i], Peak: 35_900_000})
		w.Bare = append(w.Bare, measurement{Wall: bare[i]})
	}
	return w
}

// A ratio is that of a pair, and not of the medians.
func TestRatiosArePairByPair(t *testing.T) {
	w := wallOfRuns(3, []time.Duration{110, 300, 1000}, []time.Duration{100, 150, 250})
	for i, want := range []float64{1.1, 2, 4} {
		if got := w.ratios()[i]; got != want {
			t.Errorf("pair %d has the ratio %v, not %v", i, got, want)
		}
	}
}

func TestMedianIsTheMiddle(t *testing.T) {
	if got := median([]time.Duration{9, 1, 5}); got != 5 {
		t.Error(got)
	}
	if got := median([]float64{4, 1, 2, 9}); got != 3 {
		t.Error(got)
	}
}

func TestPageSaysWhichLimitsAreMissed(t *testing.T) {
	r := &results{Machine: machine{Commit: "abc1234"}, Walls: []wallResult{
		wallOfRuns(3, []time.Duration{1010 * time.Millisecond}, []time.Duration{time.Second}),
		wallOfRuns(100, []time.Duration{1070 * time.Millisecond}, []time.Duration{time.Second}),
	}}
	page := r.page()
	for _, want := range []string{
		"| commit | abc1234 |",
		"| program / bare client, 3 agents, calls of 500 ms | 1.03 | 1.010 | kept |",
		"| program / bare client, 100 agents, calls of 500 ms | 1.06 | 1.070 | **missed** |",
		"| program / bare client, 30 agents, calls of 500 ms | 1.04 | – | not measured |",
		"| 3 | 500ms | 1 | 1.000 | 1.010 | 1.000 | 1.010 | 1.010–1.010 | 1.010 |",
		"| 3 | 500ms | 0.000 | 0.000 | 35.9 | – | 6 | 0.009 | 2367 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no line %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "## Growth") {
		t.Error("the page has a section of a part that did not run")
	}
}

func TestPageOfNothingHasNoFaults(t *testing.T) {
	if page := (&results{}).page(); !strings.Contains(page, "not measured") || strings.Contains(page, "NaN") {
		t.Error(page)
	}
}
