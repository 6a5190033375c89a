package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const wallText = `## Whole turns

Each row is a panel. Its agents answer in a first round and agree in a second; an agent alone answers in one round. The
program runs as a process, and keeps its sessions in SQLite on disk, in a new store for each run. The service is a mock in
a process of its own: it waits for the latency, and then streams its answer. The bare client is a Go process that sends
the same bodies to the same mock, the calls of a round at once, and reads each answer to its end. It is the floor. The
program and the bare client run by turns, and each ratio compares the two runs of a pair.

- latency: how long the mock waits after it has read a body. lognormal-300ms-1 is log-normal with a median of 300 ms and a
  sigma of 1, from a fixed seed.
- critical path: the longest latency of the first round plus the longest latency of the second.
- program, bare: the time from the start of the process to its end, median of the runs.
- CPU: user and system time of the process, median of the runs.
- peak: the most memory that the process held in any run, in millions of bytes. A dash means that it held less than the
  process that measured it, some 10 MB.
- inputs: the bodies of all calls of a turn. The mock counts four bytes as a token.

`

func (r *results) writeWalls(b *strings.Builder) {
	if len(r.Walls) == 0 {
		return
	}
	b.WriteString(wallText)
	var times, costs [][]string
	for _, w := range r.Walls {
		ratios := w.ratios()
		name := []string{fmt.Sprint(w.Agents), w.Latency.String(), fmt.Sprint(w.Runs)}
		times = append(times, append(name, seconds(w.Critical), seconds(medianOf(w.Program, wallOf)), seconds(medianOf(w.Bare, wallOf)),
			fmt.Sprintf("%.3f", median(ratios)), fmt.Sprintf("%.3f–%.3f", slices.Min(ratios), slices.Max(ratios)), fmt.Sprintf("%.3f", w.overCritical())))
		costs = append(costs, append(name[:2:2], seconds(medianOf(w.Program, cpuOf)), seconds(medianOf(w.Bare, cpuOf)),
			megabytes(highestPeak(w.Program)), megabytes(highestPeak(w.Bare)),
			fmt.Sprint(w.Calls), fmt.Sprintf("%.3f", float64(w.Bytes)/1e6), fmt.Sprint(w.Bytes/bytesPerToken)))
	}
	writeTable(b, []string{
		"agents", "latency", "runs", "critical path, s", "program, s", "bare, s", "program / bare", "lowest–highest", "program / critical path",
	}, times)
	writeTable(b, []string{
		"agents", "latency", "program CPU, s", "bare CPU, s", "program peak, MB", "bare peak, MB", "calls", "inputs, MB", "input tokens",
	}, costs)
}

// ratios returns the program's time over the bare client's, pair by pair.
func (w wallResult) ratios() (all []float64) {
	for i := range w.Program {
		all = append(all, float64(w.Program[i].Wall)/float64(w.Bare[i].Wall))
	}
	return all
}

// overCritical returns the program's median time over the critical path.
func (w wallResult) overCritical() float64 {
	return float64(medianOf(w.Program, wallOf)) / float64(w.Critical)
}

func (r *results) writeStart(b *strings.Builder) {
	s := r.Start
	if len(s.Turns) == 0 {
		return
	}
	fmt.Fprintf(b, "## Start\n\nA panel of three with calls of 1 ms, and `--version`, %d runs each.\n\n", len(s.Turns))
	writeTable(b, []string{"", "median", "lowest", "highest"}, [][]string{
		spread("start of the process to the first request's arrival, ms", s.ToFirst, milliseconds),
		spread("the whole turn, ms", valuesOf(s.Turns, wallOf), milliseconds),
		spread("peak memory of the turn, MB", valuesOf(s.Turns, peakOfRun), megabytes),
		spread("`--version`, ms", valuesOf(s.Version, wallOf), milliseconds),
		spread("peak memory of `--version`, MB", valuesOf(s.Version, peakOfRun), megabytes),
	})
}

func (r *results) writeContinued(b *strings.Builder) {
	if len(r.Continued) == 0 {
		return
	}
	fmt.Fprintf(b, "## A long session\n\n`--continue` on a session of %d turns, all of which three agents are shown (policy full), %d runs.\n\n", longTurns, len(r.Continued))
	writeTable(b, []string{"", "median", "lowest", "highest"}, [][]string{
		spread("start of the process to the first request's arrival, ms", r.Continued, milliseconds),
	})
}

const benchmarkText = `## Inside one process

These are benchmarks of go test.

- tests Mocked: turns through package massgen, with models that answer at once. Each event is journaled, in memory or in
  SQLite on disk. turn is one agent, tool is one agent that calls a tool, session is 25 turns of one agent, and panel=N is
  N agents that answer and agree.
- sessions/sqlite Turn/after=N: one more turn of six messages, in a session of N turns. file-bytes/op is how much the
  compacted file grows.
- coordinator Replay: the journal of a turn of 16 agents that call tools.
- internal/coordination/kernel Agreement: the rules alone, for 100 agents that answer and agree.
- contextbuild Build: the messages of an agent that sees 100 answers.

`

func (r *results) writeBenchmarks(b *strings.Builder) {
	if len(r.Benchmarks) == 0 {
		return
	}
	b.WriteString(benchmarkText)
	var rows [][]string
	for _, x := range r.Benchmarks {
		rows = append(rows, []string{
			x.Package + " " + x.Name, fmt.Sprintf("%.0f", x.Values["ns/op"]),
			fmt.Sprintf("%.0f", x.Values["B/op"]), fmt.Sprintf("%.0f", x.Values["allocs/op"]), x.others(),
		})
	}
	writeTable(b, []string{"benchmark", "ns/op", "B/op", "allocs/op", "others"}, rows)
}

// others returns the values of a benchmark's own units.
func (x benchmark) others() string {
	var all []string
	for unit, value := range x.Values {
		if unit != "ns/op" && unit != "B/op" && unit != "allocs/op" {
			all = append(all, strconv.FormatFloat(value, 'f', -1, 64)+" "+unit)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

const growthText = `## Growth

A mocked turn in memory, for two sizes of the panel. CPU is the user and system time of a process that makes several turns,
less that of a process that makes one. Inputs grow with the square of the panel, so the rows "beside inputs" leave them out:
profiles tell which share of the time and of the allocated bytes belongs to the functions that build, hash and note inputs.
The garbage collector counts as beside inputs. For comparison, the last row has the bodies that the program sends over HTTP
for such a turn.

`

func (r *results) writeGrowth(b *strings.Builder) {
	small, large := r.Growth.Small, r.Growth.Large
	if large.Agents == 0 {
		return
	}
	b.WriteString(growthText)
	row := func(name string, of func(panelCost) float64) []string {
		return []string{name, fmt.Sprintf("%.3f", of(small)), fmt.Sprintf("%.3f", of(large)), fmt.Sprintf("%.1f", of(large)/of(small))}
	}
	writeTable(b, []string{"", fmt.Sprint(small.Agents, " agents"), fmt.Sprint(large.Agents, " agents"), "times"}, [][]string{
		row("CPU, s", func(c panelCost) float64 { return c.CPU.Seconds() }),
		row("CPU beside inputs, s", panelCost.besideCPU),
		row("allocated, MB", func(c panelCost) float64 { return c.Bytes / 1e6 }),
		row("allocated beside inputs, MB", panelCost.besideMB),
		row("bodies of the inputs, MB", func(c panelCost) float64 { return float64(c.Inputs) / 1e6 }),
	})
}
