package main

import (
	"fmt"
	"strings"
	"time"
)

// limit is the highest value that a person would not notice.
type limit struct {
	name  string
	most  float64
	value func(*results) (float64, bool) // false where the run has not measured it
}

const limitText = `## Limits

Each limit is what a person could notice. A missed limit fails no test, since times depend on the machine.
[peers.md](peers.md) compares massgen with MassGen, eino, adk-go and LangGraph.

`

func (r *results) writeLimits(b *strings.Builder) {
	var rows [][]string
	missed, measured := 0, 0
	for _, l := range limits() {
		row := []string{l.name, fmt.Sprint(l.most), "–", "not measured"}
		if value, ok := l.value(r); ok {
			measured++
			row[2], row[3] = fmt.Sprintf("%.3f", value), "kept"
			if value > l.most {
				missed++
				row[3] = "**missed**"
			}
		}
		rows = append(rows, row)
	}
	b.WriteString(limitText)
	fmt.Fprintf(b, "This run measured %d limits and missed %d of them.\n\n", measured, missed)
	writeTable(b, []string{"", "at most", "measured", ""}, rows)
}

func limits() []limit {
	var all []limit
	for _, x := range []struct {
		agents int
		most   float64
	}{{3, 1.03}, {30, 1.04}, {100, 1.06}, {300, 1.1}, {1000, 1.2}} {
		all = append(all, wallLimit(fmt.Sprintf("program / bare client, %d agents, calls of 500 ms", x.agents), x.agents, x.most,
			func(w wallResult) float64 { return median(w.ratios()) }))
	}
	return append(all,
		wallLimit("program / critical path, 3 agents, calls of 500 ms", 3, 1.05, wallResult.overCritical),
		wallLimit("program / critical path, 30 agents, calls of 500 ms", 30, 1.06, wallResult.overCritical),
		wallLimit("peak memory of 1,000 agents, MB", 1000, 600, func(w wallResult) float64 { return float64(highestPeak(w.Program)) / 1e6 }),
		limit{"peak memory of a turn of three agents, MB", 45, func(r *results) (float64, bool) {
			return ofRuns(r.Start.Turns, func(all []measurement) float64 { return float64(medianOf(all, peakOfRun)) / 1e6 })
		}},
		limit{"start to the first request, ms", 30, func(r *results) (float64, bool) { return medianMS(r.Start.ToFirst) }},
		limit{"--continue on 10,000 turns, policy full, to the first request, ms", 60, func(r *results) (float64, bool) { return medianMS(r.Continued) }},
		limit{"replay of 10,000 events, ms, reckoned from a turn of some 800", 100, func(r *results) (float64, bool) {
			per, ok := r.value("Replay", "ms/1000-events")
			return per * 10, ok
		}},
		limit{"mocked turn of three agents / of one agent", 8, func(r *results) (float64, bool) {
			three, ok := r.value("Mocked/memory/panel=3", "ns/op")
			one, also := r.value("Mocked/memory/turn", "ns/op")
			return three / one, ok && also
		}},
		limit{"a piece of an answer from the service to its event, median, ms", 150, func(r *results) (float64, bool) {
			return r.value("Lag", "median-ms")
		}},
		growthLimit("CPU of a mocked turn of 1,000 agents beside its inputs, s", 2, func(_, large panelCost) float64 { return large.besideCPU() }),
		growthLimit("growth of CPU beside inputs from 100 to 1,000 agents", 11, func(small, large panelCost) float64 {
			return large.besideCPU() / small.besideCPU()
		}),
		growthLimit("growth of allocated bytes beside inputs from 100 to 1,000 agents", 11, func(small, large panelCost) float64 {
			return large.besideMB() / small.besideMB()
		}),
	)
}

// wallLimit is about a panel whose calls take 500 ms.
func wallLimit(name string, agents int, most float64, value func(wallResult) float64) limit {
	return limit{name, most, func(r *results) (float64, bool) {
		for _, w := range r.Walls {
			if w.Agents == agents && w.Latency == (latency{Median: 500 * time.Millisecond}) {
				return value(w), true
			}
		}
		return 0, false
	}}
}

// growthLimit is about the growth from 100 to 1,000 agents.
func growthLimit(name string, most float64, value func(small, large panelCost) float64) limit {
	return limit{name, most, func(r *results) (float64, bool) {
		if r.Growth.Small.Agents != 100 || r.Growth.Large.Agents != 1000 {
			return 0, false
		}
		return value(r.Growth.Small, r.Growth.Large), true
	}}
}

// value returns what a benchmark of go test has measured.
func (r *results) value(name, unit string) (float64, bool) {
	for _, b := range r.Benchmarks {
		if b.Name == name {
			value, ok := b.Values[unit]
			return value, ok
		}
	}
	return 0, false
}

func ofRuns(all []measurement, value func([]measurement) float64) (float64, bool) {
	if len(all) == 0 {
		return 0, false
	}
	return value(all), true
}

func medianMS(times []time.Duration) (float64, bool) {
	if len(times) == 0 {
		return 0, false
	}
	return median(times).Seconds() * 1000, true
}
