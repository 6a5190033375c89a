package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/massgen/massgen/internal/system/metrics"
)

// sdkMetrics takes the metrics of Temporal's SDK, under the names that its documents use: counters end in _total, and
// times are in seconds. The queue of one worker alone, of which each process has another, is named own.
type sdkMetrics struct {
	registry *metrics.Registry
	tags     map[string]string
}

const sdkHelp = "See Temporal's SDK metrics."

// WithTags implements client.MetricsHandler.
func (s sdkMetrics) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(s.tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	return sdkMetrics{s.registry, all}
}

func (s sdkMetrics) labels(name string) (labels []string) {
	if strings.HasPrefix(name, "massgen_") {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.tags)) {
		value := s.tags[key]
		if key == "task_queue" && strings.Contains(value, ownQueue) {
			value = "own"
		}
		if value != "" && value != "none" {
			labels = append(labels, strings.ReplaceAll(key, "-", "_"), value)
		}
	}
	return labels
}

// Counter implements client.MetricsHandler.
func (s sdkMetrics) Counter(name string) client.MetricsCounter {
	return counter(func(by int64) {
		m := metrics.Metric{Name: strings.TrimSuffix(name, "_total") + "_total", Kind: metrics.Counter, Help: sdkHelp}
		s.registry.Add(m, float64(by), s.labels(name)...)
	})
}

// Gauge implements client.MetricsHandler.
func (s sdkMetrics) Gauge(name string) client.MetricsGauge {
	return gauge(func(to float64) {
		s.registry.Set(metrics.Metric{Name: name, Kind: metrics.Gauge, Help: sdkHelp}, to, s.labels(name)...)
	})
}

// Timer implements client.MetricsHandler.
func (s sdkMetrics) Timer(name string) client.MetricsTimer {
	return timerOf(func(took time.Duration) {
		s.registry.Observe(metrics.Metric{Name: name + "_seconds", Kind: metrics.Histogram, Help: sdkHelp}, took.Seconds(), s.labels(name)...)
	})
}

type (
	counter func(int64)
	gauge   func(float64)
	timerOf func(time.Duration)
)

// Inc implements client.MetricsCounter.
func (c counter) Inc(by int64) { c(by) }

// Update implements client.MetricsGauge.
func (g gauge) Update(to float64) { g(to) }

// Record implements client.MetricsTimer.
func (t timerOf) Record(took time.Duration) { t(took) }
