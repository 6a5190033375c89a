package telemetry

import (
	"cmp"
	"encoding/hex"
	"strconv"
	"time"
)

// The requests of OTLP as JSON: ids are hexadecimal, and 64-bit integers are strings.
type object = map[string]any

const scopeName = "github.com/massgen/massgen"

func attributesJSON(list []attribute) []object {
	out := make([]object, len(list))
	for i, a := range list {
		value := object{}
		switch v := a.value.(type) {
		case int:
			value["intValue"] = strconv.Itoa(v)
		case bool:
			value["boolValue"] = v
		case string:
			value["stringValue"] = v
		}
		out[i] = object{"key": a.key, "value": value}
	}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func (s *span) json() object {
	o := object{
		"traceId": hex.EncodeToString(s.trace[:]), "spanId": hex.EncodeToString(s.id[:]), "name": s.name, "kind": cmp.Or(s.kind, kindInternal),
		"startTimeUnixNano": nanos(s.start), "endTimeUnixNano": nanos(s.end), "attributes": attributesJSON(s.attributes),
	}
	if s.parent != [8]byte{} {
		o["parentSpanId"] = hex.EncodeToString(s.parent[:])
	}
	if s.failure != "" {
		o["status"] = object{"code": 2, "message": s.failure}
	}
	return o
}

func tracesJSON(resource []attribute, spans []*span) object {
	list := make([]object, len(spans))
	for i, s := range spans {
		list[i] = s.json()
	}
	return object{"resourceSpans": []object{{
		"resource":   object{"attributes": attributesJSON(resource)},
		"scopeSpans": []object{{"scope": object{"name": scopeName}, "spans": list}},
	}}}
}

func (m *metrics) json(resource []attribute, now time.Time) object {
	var list []object
	for _, i := range []*instrument{m.duration, m.tokens} {
		if len(i.order) == 0 {
			continue
		}
		points := make([]object, len(i.order))
		for n, key := range i.order {
			h := i.series[key]
			counts := make([]string, len(h.counts))
			for k, c := range h.counts {
				counts[k] = strconv.FormatUint(c, 10)
			}
			points[n] = object{
				"attributes": attributesJSON(h.attributes), "startTimeUnixNano": nanos(m.began), "timeUnixNano": nanos(now),
				"count": strconv.FormatUint(h.count, 10), "sum": h.sum, "bucketCounts": counts, "explicitBounds": i.bounds,
			}
		}
		const cumulative = 2
		list = append(list, object{
			"name": i.name, "unit": i.unit, "description": i.about,
			"histogram": object{"aggregationTemporality": cumulative, "dataPoints": points},
		})
	}
	return object{"resourceMetrics": []object{{
		"resource":     object{"attributes": attributesJSON(resource)},
		"scopeMetrics": []object{{"scope": object{"name": scopeName}, "metrics": list}},
	}}}
}
