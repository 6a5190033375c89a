package main

import "testing"

func TestParseTotalReadsWhatPprofPrints(t *testing.T) {
	top := "Type: cpu\nDuration: 870.66ms, Total samples = 1020ms (117.15%)\nShowing nodes accounting for 120ms, 11.76% of 1020.5ms total\n      flat  flat%\n"
	if got, err := parseTotal(top, "ms"); err != nil || got != 1020.5 {
		t.Errorf("%v, %v", got, err)
	}
	for _, unit := range []string{"s", "B"} {
		if got, err := parseTotal(top, unit); err == nil {
			t.Errorf("in %s it is %v", unit, got)
		}
	}
}
