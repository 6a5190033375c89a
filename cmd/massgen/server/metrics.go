package server

import (
	"errors"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/coordination/budget"
)

// tally counts the turns and refusals of a server, for GET /metrics.
type tally struct {
	mu       sync.Mutex
	models   map[string]*modelTally
	refusals map[string]int // by code
}

// modelTally counts the turns of one model.
type modelTally struct {
	running   int
	ended     map[string]int // by status
	used      budget.Usage   // without the cost, which is in usd
	usd       float64
	unpriced  int   // turns whose cost is not known
	durations []int // by bucket; a bucket includes the shorter turns
	seconds   float64
	count     int
}

// buckets are the bounds of the durations, in seconds.
func buckets() []float64 { return []float64{1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800} }

func (t *tally) of(model string) *modelTally {
	m := t.models[model]
	if m == nil {
		m = &modelTally{ended: map[string]int{}, durations: make([]int, len(buckets()))}
		t.models[model] = m
	}
	return m
}

// began counts a turn that begins.
func (t *tally) began(model string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(model).running++
}

// ended counts a turn that is over. A turn that its store has lost has no result.
func (t *tally) ended(model string, took time.Duration, r massgen.Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.of(model)
	m.running--
	status := r.Status
	if err != nil {
		status = "error"
	}
	m.ended[status]++
	m.used = m.used.Plus(r.Usage)
	if r.Usage.CostUSD != nil {
		m.usd += *r.Usage.CostUSD
	} else {
		m.unpriced++
	}
	m.count++
	m.seconds += took.Seconds()
	for i, most := range buckets() {
		if took.Seconds() <= most {
			m.durations[i]++
		}
	}
}

// refused counts a request that was refused.
func (t *tally) refused(err error) {
	var r refusal
	code := "internal_error"
	if errors.As(err, &r) {
		code = r.code
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusals[code]++
}

// show answers GET /metrics in the text form of Prometheus.
func (t *tally) show(w http.ResponseWriter, respond responder) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	respond.writeBytes(w, []byte(t.text()+processMetrics()))
}

// text returns all samples.
func (t *tally) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var p prometheus
	each := func(name, kind, help string, show func(id string, m *modelTally)) {
		p.begin(name, kind, help)
		for _, id := range slices.Sorted(maps.Keys(t.models)) {
			show(id, t.models[id])
		}
	}
	each("massgen_turns_running", "gauge", "Turns that run.", func(id string, m *modelTally) {
		p.sample("massgen_turns_running", float64(m.running), "model", id)
	})
	each("massgen_turns_total", "counter", "Turns that are over, by their status.", func(id string, m *modelTally) {
		for _, status := range slices.Sorted(maps.Keys(m.ended)) {
			p.sample("massgen_turns_total", float64(m.ended[status]), "model", id, "status", status)
		}
	})
	each("massgen_tokens_total", "counter", "Tokens of all model calls; cached ones are among the input, reasoning ones among the output.", func(id string, m *modelTally) {
		p.sample("massgen_tokens_total", float64(m.used.InputTokens), "model", id, "kind", "input")
		p.sample("massgen_tokens_total", float64(m.used.OutputTokens), "model", id, "kind", "output")
		p.sample("massgen_tokens_total", float64(m.used.CachedInputTokens), "model", id, "kind", "cached_input")
		p.sample("massgen_tokens_total", float64(m.used.ReasoningTokens), "model", id, "kind", "reasoning_output")
	})
	each("massgen_cost_usd_total", "counter", "The cost of all turns whose cost is known, in US dollars.", func(id string, m *modelTally) {
		p.sample("massgen_cost_usd_total", m.usd, "model", id)
	})
	each("massgen_turns_unpriced_total", "counter", "Turns whose cost is not known.", func(id string, m *modelTally) {
		p.sample("massgen_turns_unpriced_total", float64(m.unpriced), "model", id)
	})
	each("massgen_turn_duration_seconds", "histogram", "How long turns took.", func(id string, m *modelTally) { m.histogram(&p, id) })
	p.begin("massgen_requests_refused_total", "counter", "Requests refused before they were handled, and turns beyond a limit, by code.")
	for _, code := range slices.Sorted(maps.Keys(t.refusals)) {
		p.sample("massgen_requests_refused_total", float64(t.refusals[code]), "code", code)
	}
	return p.String()
}

func (m *modelTally) histogram(p *prometheus, id string) {
	const name = "massgen_turn_duration_seconds"
	for i, most := range buckets() {
		p.sample(name+"_bucket", float64(m.durations[i]), "model", id, "le", number(most))
	}
	p.sample(name+"_bucket", float64(m.count), "model", id, "le", "+Inf")
	p.sample(name+"_sum", m.seconds, "model", id)
	p.sample(name+"_count", float64(m.count), "model", id)
}

// processMetrics returns the samples of the process, named as in the official client.
func processMetrics() string {
	var memory runtime.MemStats // package runtime/metrics slows each start of the program down
	runtime.ReadMemStats(&memory)
	var p prometheus
	p.begin("go_goroutines", "gauge", "Goroutines that exist.")
	p.sample("go_goroutines", float64(runtime.NumGoroutine()))
	p.begin("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap that are in use, or not yet freed.")
	p.sample("go_memstats_heap_alloc_bytes", float64(memory.HeapAlloc))
	return p.String()
}

// prometheus writes samples in Prometheus' text form.
type prometheus struct{ strings.Builder }

func (p *prometheus) begin(name, kind, help string) {
	p.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes a value under a name and pairs of labels and their values.
func (p *prometheus) sample(name string, value float64, labels ...string) {
	p.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		between := ","
		if i == 0 {
			between = "{"
		}
		p.WriteString(between + labels[i] + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		p.WriteString("}")
	}
	p.WriteString(" " + number(value) + "\n")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
