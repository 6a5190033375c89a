package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBenchmarksReadsWhatGoTestPrints(t *testing.T) {
	got, err := parseBenchmarks("coordinator", `goos: linux
cpu: Some(R) Processor
BenchmarkReplay-2   	      52	  22635038 ns/op	       801.0 events	        28.26 ms/1000-events	 8225936 B/op	   79361 allocs/op
BenchmarkMocked/memory/panel=3-2         	       3	    779599 ns/op
BenchmarkOf-a-part-of-x 	       3	    0.5 ns/op
PASS
`)
	want := []benchmark{
		{"coordinator", "Replay", 52, map[string]float64{
			"ns/op": 22635038, "events": 801, "ms/1000-events": 28.26, "B/op": 8225936, "allocs/op": 79361,
		}},
		{"coordinator", "Mocked/memory/panel=3", 3, map[string]float64{"ns/op": 779599}},
		{"coordinator", "Of-a-part-of-x", 3, map[string]float64{"ns/op": 0.5}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if others := got[0].others(); others != "28.26 ms/1000-events, 801 events" {
		t.Errorf("its other values are %q", others)
	}
}

func TestParseBenchmarksReportsWhatItCannotRead(t *testing.T) {
	for _, out := range []string{"", "PASS\n", "BenchmarkX-2 many 5 ns/op\n", "BenchmarkX-2 5 many ns/op\n"} {
		if got, err := parseBenchmarks("tests", out); err == nil {
			t.Errorf("%q is read as %+v", out, got)
		}
	}
}
