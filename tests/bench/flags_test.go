package main

import (
	"strings"
	"testing"
	"time"
)

func TestFlagsSayWhatARunMeasures(t *testing.T) {
	f, err := readFlags(strings.Fields("-quick -only wall -agents 100 -latency lognormal-300ms-1"))
	want := suiteFlags{quick: true, only: "wall", panel: wallCase{100, latency{300 * time.Millisecond, 1}, 3}}
	if err != nil || f != want {
		t.Errorf("%+v, %v", f, err)
	}
	for _, args := range []string{"-only walls", "-agents 3", "-only wall -agents -3", "-only wall -latency 5", "more"} {
		if f, err := readFlags(strings.Fields(args)); err == nil {
			t.Errorf("%s is read as %+v", args, f)
		}
	}
}
