// Package metrics counts what a process does, and writes the figures in the text form of Prometheus.
//
// It stands in for client_golang, which would add its descriptors and its compression to each
// program, for one page of text.
package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Registry has the figures of a process. A nil Registry drops them. It is safe for concurrent use.
type Registry struct {
	mu       sync.Mutex
	families map[string]*family
	collect  []func()
}

// family is a metric with all its series.
type family struct {
	Metric
	series map[string]*series
}

// series is a metric with one set of labels.
type series struct {
	labels  string
	value   float64
	buckets []uint64 // by bound, of a histogram
	count   uint64
}

// New returns a Registry without figures.
func New() *Registry { return &Registry{families: map[string]*family{}} }

// OnScrape makes each Text call collect first, which sets figures that are read and not counted.
func (r *Registry) OnScrape(collect func()) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collect = append(r.collect, collect)
}

// Expect makes a series exist from now on, with 0 until something happens, so that a rate sees also the first event.
func (r *Registry) Expect(m Metric, labels ...string) { r.change(m, labels, func(*series) {}) }

// Add adds to a counter, or to a gauge. labels are names and values in turn.
func (r *Registry) Add(m Metric, by float64, labels ...string) {
	r.change(m, labels, func(s *series) { s.value += by })
}

// Set sets a gauge.
func (r *Registry) Set(m Metric, to float64, labels ...string) {
	r.change(m, labels, func(s *series) { s.value = to })
}

// Observe adds a value to a histogram.
func (r *Registry) Observe(m Metric, value float64, labels ...string) {
	r.change(m, labels, func(s *series) {
		for i, most := range m.bounds() {
			if value <= most {
				s.buckets[i]++
			}
		}
		s.value += value
		s.count++
	})
}

func (r *Registry) change(m Metric, labels []string, change func(*series)) {
	if r == nil {
		return
	}
	key := written(labels)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.families[m.Name]
	if f == nil {
		f = &family{m, map[string]*series{}}
		r.families[m.Name] = f
	}
	s := f.series[key]
	if s == nil {
		s = &series{labels: key}
		if m.Kind == Histogram {
			s.buckets = make([]uint64, len(m.bounds()))
		}
		f.series[key] = s
	}
	change(s)
}

// Value returns a counter or a gauge, and 0 if nothing has set it.
func (r *Registry) Value(m Metric, labels ...string) float64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.families[m.Name]; f != nil {
		if s := f.series[written(labels)]; s != nil {
			return s.value
		}
	}
	return 0
}

// ContentType is the type of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Text returns all figures, sorted by name and labels.
func (r *Registry) Text() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	collect := slices.Clone(r.collect)
	r.mu.Unlock()
	for _, c := range collect {
		c()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.families)) {
		f := r.families[name]
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, f.Help, name, f.Kind)
		for _, key := range slices.Sorted(maps.Keys(f.series)) {
			f.series[key].write(&b, f.Metric)
		}
	}
	return b.String()
}

func (s *series) write(b *strings.Builder, m Metric) {
	if m.Kind != Histogram {
		fmt.Fprintf(b, "%s%s %s\n", m.Name, braced(s.labels), number(s.value))
		return
	}
	before := s.labels
	if before != "" {
		before += ","
	}
	for i, most := range m.bounds() {
		fmt.Fprintf(b, "%s_bucket{%sle=%q} %d\n", m.Name, before, number(most), s.buckets[i])
	}
	fmt.Fprintf(b, "%s_bucket{%sle=\"+Inf\"} %d\n", m.Name, before, s.count)
	fmt.Fprintf(b, "%s_sum%s %s\n%s_count%s %d\n", m.Name, braced(s.labels), number(s.value), m.Name, braced(s.labels), s.count)
}

// written returns labels as Prometheus reads them, without the braces.
func written(labels []string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for i := 0; i+1 < len(labels); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(labels[i] + `="` + escaped.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	return b.String()
}

func braced(labels string) string {
	if labels == "" {
		return ""
	}
	return "{" + labels + "}"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
