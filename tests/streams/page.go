package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The limits: what a stream may take of the server's memory, and how much later than without the
// server all but one of a hundred chunks may come, and how much longer than the command line the
// server may take for a panel's answer.
const (
	mostEach     = 1 << 20
	mostLate     = 50 * time.Millisecond
	mostOverhead = 5 * time.Millisecond
)

// each is what one stream has added to the server's memory.
func (r result) each(o options) int64 { return (r.most - r.before) / int64(o.streams+o.slow) }

// added is how much later than without the server a part of the chunks came.
func (r result) added(part float64) time.Duration { return r.served.at(part) - r.bare.at(part) }

// kept reports whether all limits were kept.
func (r result) kept(o options) bool {
	return r.served.whole == o.streams && r.each(o) < mostEach && r.added(0.99) < mostLate && r.asked.overhead() < mostOverhead
}

func (r result) print(w io.Writer, o options) {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
	lines := []string{
		fmt.Sprintf("%d streams at once, %d chunks each, one every %s; %d more clients read nothing", o.streams, o.chunks(), o.every, o.slow),
		fmt.Sprintf("whole and in order: %d without the server, %d with it", r.bare.whole, r.served.whole),
		fmt.Sprintf("delay of a chunk without the server: p50 %s, p99 %s, at most %s", ms(r.bare.at(0.5)), ms(r.bare.at(0.99)), ms(r.bare.at(1))),
		fmt.Sprintf("delay of a chunk with it:            p50 %s, p99 %s, at most %s", ms(r.served.at(0.5)), ms(r.served.at(0.99)), ms(r.served.at(1))),
		fmt.Sprintf("added: p50 %s, p99 %s (limit %s)", ms(r.added(0.5)), ms(r.added(0.99)), ms(mostLate)),
		fmt.Sprintf("memory of the server: %d KiB before, %d KiB at most: %d KiB a stream (limit %d KiB)", r.before>>10, r.most>>10, r.each(o)>>10, mostEach>>10),
	}
	if o.panel > 0 {
		lines = append(lines, fmt.Sprintf("a panel of three, asked %d times: p50 %s by the command line (%s with its start), %s by the server: %s more (limit %s)",
			o.panel, ms(middle(r.asked.turn)), ms(middle(r.asked.program)), ms(middle(r.asked.served)), ms(r.asked.overhead()), ms(mostOverhead)))
	}
	for _, fault := range append(r.bare.faults, r.served.faults...) {
		lines = append(lines, "fault: "+fault)
	}
	_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n") // nobody reads them if this fails
}
