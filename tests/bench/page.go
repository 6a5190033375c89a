package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// results are what a run has measured.
type results struct {
	Machine    machine
	Quick      bool
	Start      startResult
	Walls      []wallResult
	Continued  []time.Duration
	Benchmarks []benchmark
	Growth     growthResult
}

// page returns the results as Markdown. It leaves out the sections of parts that did not run.
func (r *results) page() string {
	var b strings.Builder
	b.WriteString(intro)
	if r.Quick {
		b.WriteString("This was a quick run, with fewer sizes and fewer repetitions.\n\n")
	}
	r.writeMachine(&b)
	r.writeLimits(&b)
	r.writeWalls(&b)
	r.writeStart(&b)
	r.writeContinued(&b)
	r.writeBenchmarks(&b)
	r.writeGrowth(&b)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

const intro = `# Benchmarks

` + "`make bench`" + ` measures the program and writes this page; do not edit it. Times depend on the machine and on what else it does
meanwhile: a load above 0.3 before the run means that other programs slowed it down. Ratios compare what ran side by side,
and depend on the machine less.

`

func (r *results) writeMachine(b *strings.Builder) {
	m := r.Machine
	writeTable(b, []string{"this run", ""}, [][]string{
		{"date", m.Date.Format("2006-01-02 15:04 MST")},
		{"commit", m.Commit},
		{"Go", m.Go},
		{"system", m.System},
		{"processor", cmp.Or(m.CPU, "unknown")},
		{"processors", fmt.Sprint(m.Cores)},
		{"memory", cmp.Or(m.Memory, "unknown")},
		{"load before the run (1 minute)", cmp.Or(m.Load, "unknown")},
	})
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

// number is what a median can be taken of.
type number interface{ ~int64 | ~float64 }

// median returns the middle one of some numbers, or the mean of the middle two.
func median[T number](of []T) T {
	sorted := slices.Sorted(slices.Values(of))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

func wallOf(m measurement) time.Duration { return m.Wall }

func cpuOf(m measurement) time.Duration { return m.CPU }

func peakOfRun(m measurement) int64 { return m.Peak }

// valuesOf returns one value of each measurement.
func valuesOf[T any](all []measurement, value func(measurement) T) []T {
	var values []T
	for _, m := range all {
		values = append(values, value(m))
	}
	return values
}

func medianOf[T number](all []measurement, value func(measurement) T) T {
	return median(valuesOf(all, value))
}

func highestPeak(all []measurement) int64 { return slices.Max(valuesOf(all, peakOfRun)) }

// spread returns a row with the median of some values, the lowest and the highest.
func spread[T number](name string, values []T, text func(T) string) []string {
	return []string{name, text(median(values)), text(slices.Min(values)), text(slices.Max(values))}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }

// megabytes returns bytes in millions, and a dash where they are unknown.
func megabytes(bytes int64) string {
	if bytes == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(bytes)/1e6)
}
