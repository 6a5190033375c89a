package metrics_test

import (
	"testing"

	"github.com/massgen/massgen/internal/system/metrics"
)

// TestTextForm: counters, gauges and histograms are written as Prometheus reads them, and a label's
// value cannot end its quotation.
func TestTextForm(t *testing.T) {
	t.Parallel()
	r := metrics.New()
	counter := metrics.Metric{Name: "a_total", Kind: metrics.Counter, Help: "A."}
	gauge := metrics.Metric{Name: "b", Kind: metrics.Gauge, Help: "B."}
	histogram := metrics.Metric{Name: "c_seconds", Kind: metrics.Histogram, Help: "C.", Bounds: []float64{1, 2.5}}
	r.Add(counter, 1, "model", "x\"\\\n")
	r.Add(counter, 0.5, "model", "x\"\\\n")
	r.OnScrape(func() { r.Set(gauge, 3) })
	r.Observe(histogram, 2, "kind", "k")
	r.Observe(histogram, 7, "kind", "k")
	want := `# HELP a_total A.
# TYPE a_total counter
a_total{model="x\"\\\n"} 1.5
# HELP b B.
# TYPE b gauge
b 3
# HELP c_seconds C.
# TYPE c_seconds histogram
c_seconds_bucket{kind="k",le="1"} 0
c_seconds_bucket{kind="k",le="2.5"} 1
c_seconds_bucket{kind="k",le="+Inf"} 2
c_seconds_sum{kind="k"} 9
c_seconds_count{kind="k"} 2
`
	if got := r.Text(); got != want {
		t.Errorf("%s", got)
	}
	if v := r.Value(counter, "model", "x\"\\\n"); v != 1.5 {
		t.Error(v)
	}
	var none *metrics.Registry
	none.Add(counter, 1)
	none.OnScrape(func() {})
	if none.Text() != "" || none.Value(counter) != 0 {
		t.Error("nil has figures")
	}
}
