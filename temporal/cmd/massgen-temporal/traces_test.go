package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
)

// spanAtCollector is a span as a collector gets it.
type spanAtCollector struct{ TraceID, SpanID, ParentSpanID, Name string }

// collectSpans starts a collector for the programs of a world. found returns what has come, by name.
func (w *world) collectSpans() (found func() map[string][]spanAtCollector) {
	w.t.Helper()
	var mu sync.Mutex
	all := map[string][]spanAtCollector{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []spanAtCollector }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			w.t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range body.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					all[s.Name] = append(all[s.Name], s)
				}
			}
		}
	}))
	w.t.Cleanup(collector.Close)
	w.env = append(w.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	return func() map[string][]spanAtCollector {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// TestWorkersJoinTheTraceOfATurn that a client sends: each call has a span of the worker that made it, also if the
// store masks a key in the question.
func TestWorkersJoinTheTraceOfATurn(t *testing.T) {
	t.Parallel()
	const key = "sk-0123456789abcdefghij"
	for name, question := range map[string]string{"plain": "energy?", "with a key": "what is " + key + "?"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			found := w.collectSpans()
			w.env = append(w.env, "OPENAI_API_KEY="+key)
			config := w.config(newService(t, agreeable).agents(2)...)
			worker := w.worker("worker", config)
			r := w.result(w.ask(config, question))
			ok(t, worker.Process.Signal(os.Interrupt))
			<-worker.ended
			spans := found()
			roots, calls := spans["invoke_workflow massgen"], spans["perform chat"]
			if len(roots) != 1 || len(calls) != r.Usage.Calls || len(calls) == 0 {
				t.Fatalf("%d turns and %d calls were sent: %v", len(roots), len(calls), spans)
			}
			for _, c := range calls {
				if c.TraceID != roots[0].TraceID || c.ParentSpanID != roots[0].SpanID {
					t.Errorf("the call %+v is not below the turn %+v", c, roots[0])
				}
			}
		})
	}
}
