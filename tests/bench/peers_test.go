package main

import (
	"strings"
	"testing"
	"time"
)

func TestPageOfPeersSaysWhoIsFaster(t *testing.T) {
	of := func(ns float64) benchmark { return benchmark{Values: map[string]float64{"ns/op": ns}} }
	r := &peerResults{Missing: []string{"MassGen"}, Panels: []peerPanel{{
		wallCase: wallCase{Agents: 3, Latency: latency{Median: 500 * time.Millisecond}, Runs: 1},
		Program:  []measurement{{Wall: time.Second}}, MassGen: []measurement{{Wall: 9 * time.Second}}, Own: []time.Duration{2 * time.Second},
		OwnCalls: 6, MassGenCalls: 7,
	}}}
	for _, own := range []float64{20, 40, 30} { // by rounds: 2, 2 and 3 times eino's
		r.Rounds = append(r.Rounds, map[string]benchmark{"turn/massgen": of(own), "turn/eino": of(10 + own/4*float64(len(r.Rounds)%2)), "turn/adk": of(100)})
	}
	page := r.page()
	for _, want := range []string{
		"- turn: massgen takes 2.00 times the time of eino\n",
		"| turn: massgen / eino | 1.5 | 2.00 | 2.00–3.00 | **missed** |",
		"| turn: massgen / adk | 1 | 0.30 | 0.20–0.40 | kept |",
		"| session: massgen / adk | 1 | – | – | not measured |",
		"- MassGen was not measured: it is not installed\n",
		"| 3 | 500ms | 1 | 1.000 | 9.000 | 2.000 | 6 | 7 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no line %s:\n%s", want, page)
		}
	}
}
