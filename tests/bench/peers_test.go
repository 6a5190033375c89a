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
	for _, own := range []float64{25, 50, 30} { // by rounds: 2.50, 2.22 and 3.00 times eino's
		r.Rounds = append(r.Rounds, map[string]benchmark{"turn/massgen": of(own), "turn/eino": of(10 + own/4*float64(len(r.Rounds)%2)), "turn/adk": of(100)})
	}
	page := r.page()
	for _, want := range []string{
		"- turn: massgen takes 2.50 times the time of eino\n",
		"| turn: massgen / eino | 2 | 2.50 | 2.22–3.00 | **missed** |",
		"| tool: massgen / eino | 2.5 | – | – | not measured |",
		"| turn: massgen / adk | 1 | 0.30 | 0.25–0.50 | kept |",
		"| session: massgen / adk | 1 | – | – | not measured |",
		"- MassGen was not measured: it is not installed\n",
		"| 3 | 500ms | 1 | 1.000 | 9.000 | 2.000 | 6 | 7 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no line %s:\n%s", want, page)
		}
	}
}
