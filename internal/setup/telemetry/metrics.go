package telemetry

import (
	"fmt"
	"slices"
	"time"
)

// histogram is the distribution of values with the same attributes.
type histogram struct {
	attributes []attribute
	counts     []uint64 // one more than there are bounds
	sum        float64
	count      uint64
}

// instrument is a metric of the conventions.
type instrument struct {
	name, unit, about string
	bounds            []float64
	series            map[string]*histogram
	order             []string
}

func (i *instrument) record(value float64, attributes []attribute) {
	key := fmt.Sprintf("%q", attributes)
	h := i.series[key]
	if h == nil {
		h = &histogram{attributes: attributes, counts: make([]uint64, len(i.bounds)+1)}
		i.series[key] = h
		i.order = append(i.order, key)
	}
	at, _ := slices.BinarySearch(i.bounds, value)
	h.counts[at]++
	h.sum += value
	h.count++
}

// metrics are the metrics of a process. Their owner guards them.
type metrics struct {
	began            time.Time
	duration, tokens *instrument
}

func newMetrics(began time.Time) *metrics {
	doubling := func(first, factor float64) []float64 {
		bounds := make([]float64, 14)
		for i := range bounds {
			bounds[i] = first
			first *= factor
		}
		return bounds
	}
	return &metrics{
		began: began,
		duration: &instrument{
			name: "gen_ai.client.operation.duration", unit: "s", about: "GenAI operation duration.", bounds: doubling(0.01, 2), series: map[string]*histogram{},
		},
		tokens: &instrument{
			name: "gen_ai.client.token.usage", unit: "{token}", about: "Number of input and output tokens used.", bounds: doubling(1, 4), series: map[string]*histogram{},
		},
	}
}

// record records a model call that has ended. It skips steps and turns, whose tokens are those of their
// calls.
func (m *metrics) record(s *span) {
	if s.operation != chat {
		return
	}
	var attributes []attribute
	tokens := map[string]int{}
	for _, a := range s.attributes {
		switch a.key {
		case operationKey, providerKey, modelKey, errorKey:
			attributes = append(attributes, a)
		case "gen_ai.usage.input_tokens":
			tokens["input"] = a.value.(int)
		case "gen_ai.usage.output_tokens":
			tokens["output"] = a.value.(int)
		}
	}
	m.duration.record(s.end.Sub(s.start).Seconds(), attributes)
	for _, kind := range []string{"input", "output"} {
		if n, known := tokens[kind]; known {
			m.tokens.record(float64(n), append(slices.Clone(attributes), attribute{tokenTypeKey, kind}))
		}
	}
}
