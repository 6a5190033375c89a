package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// results are what a run has measured.
type results struct {
	Machine machine
	Quick   bool
	Walls   []wallResult
}

// page returns the results as Markdown.
func (r *results) page() string {
	var b strings.Builder
	r.writeWalls(&b)
	return b.String()
}

// writeTable writes rows below a heading of columns. The first column has names, the others
// numbers.
func writeTable(b *strings.Builder, columns []string, rows [][]string) {
	fmt.Fprintf(b, "| %s |\n| --- |%s\n", strings.Join(columns, " | "), strings.Repeat(" ---: |", len(columns)-1))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	b.WriteByte('\n')
}

func (r *results) writeWalls(b *strings.Builder) {
	var rows [][]string
	for _, w := range r.Walls {
		low, middle, high := w.ratios()
		rows = append(rows, []string{
			fmt.Sprint(w.Agents), w.Latency.String(), fmt.Sprint(w.Runs), seconds(w.Critical), seconds(median(wallsOf(w.Program))), seconds(median(wallsOf(w.Bare))),
			fmt.Sprintf("%.3f (%.3f to %.3f)", middle, low, high), fmt.Sprintf("%.3f", w.overCritical()),
			seconds(median(cpuOf(w.Program))), seconds(median(cpuOf(w.Bare))), megabytes(peakAmong(w.Program)), megabytes(peakAmong(w.Bare)),
			fmt.Sprint(w.Calls), megabytes(w.Bytes),
		})
	}
	writeTable(b, []string{
		"agents", "latency", "runs", "critical path, s", "program, s", "bare, s", "program / bare", "program / critical path",
		"program CPU, s", "bare CPU, s", "program peak, MB", "bare peak, MB", "calls", "inputs, MB",
	}, rows)
}

// ratios returns the program's time over the bare client's, pair by pair.
func (w wallResult) ratios() (low, middle, high float64) {
	var all []float64
	for i := range w.Program {
		all = append(all, float64(w.Program[i].Wall)/float64(w.Bare[i].Wall))
	}
	return slices.Min(all), median(all), slices.Max(all)
}

func (w wallResult) overCritical() float64 {
	return float64(median(wallsOf(w.Program))) / float64(w.Critical)
}

func wallsOf(all []measurement) (walls []time.Duration) {
	for _, m := range all {
		walls = append(walls, m.Wall)
	}
	return walls
}

func cpuOf(all []measurement) (times []time.Duration) {
	for _, m := range all {
		times = append(times, m.CPU)
	}
	return times
}

func peakAmong(all []measurement) (peak int64) {
	for _, m := range all {
		peak = max(peak, m.Peak)
	}
	return peak
}

// median returns the middle one of some numbers, the upper one of two.
func median[T int64 | float64 | time.Duration](of []T) T {
	return slices.Sorted(slices.Values(of))[len(of)/2]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// megabytes returns bytes in millions, and a dash for none.
func megabytes(bytes int64) string {
	if bytes == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(bytes)/1e6)
}
