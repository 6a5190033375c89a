package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// slowWriter is a service whose first agent writes a long answer. Each piece waits until the piece before it was seen.
type slowWriter struct {
	pieces int
	sent   chan time.Time
	seen   chan struct{}
}

func (s *slowWriter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	call := func(name, arguments string) {
		data, _ := json.Marshal(arguments) // a text encodes
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":%q,"arguments":%s}}]}}]}`+"\n\n", name, data)
		_ = http.NewResponseController(w).Flush() // the client has gone
	}
	switch text := string(body); {
	case !strings.Contains(text, "(no answers available yet)"):
		call("vote", `{"agent_id":"agent1","reason":"It is long."}`)
	case !strings.Contains(text, `"model":"agent1"`):
		call("new_answer", `{"content":"short"}`)
	default:
		call("new_answer", `{"content":"The`)
		for range s.pieces {
			<-s.seen
			now := time.Now()
			call("", " wind")
			s.sent <- now
		}
		<-s.seen
		call("", `"}`)
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
}

// BenchmarkLag measures the time from a piece of an answer, sent by a service over HTTP, to its event. It reports the
// median in ms.
func BenchmarkLag(b *testing.B) {
	service := &slowWriter{pieces: b.N, sent: make(chan time.Time, 1), seen: make(chan struct{}, 1)}
	server := httptest.NewServer(service)
	b.Cleanup(server.Close)
	opts := coordinator.Options{Store: sessions.NewMemory(), Rules: kernel.Defaults()}
	for _, id := range []string{"agent1", "agent2"} {
		backend, err := openai.New(openai.Config{BaseURL: server.URL})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = backend.Close() })
		opts.Agents = append(opts.Agents, coordinator.Agent{ID: id, Model: id, Backend: backend})
	}
	panel, err := coordinator.New(opts)
	if err != nil {
		b.Fatal(err)
	}
	turn, err := panel.Start(b.Context(), "s", "energy?")
	if err != nil {
		b.Fatal(err)
	}
	var lags []float64
	for ev := range turn.Events(b.Context()) {
		piece, isText := ev.(report.TextDelta)
		if !isText || piece.Agent != "agent1" || piece.Act != effect.NewAnswer {
			continue
		}
		if arrived := time.Now(); piece.Text != "The" {
			lags = append(lags, arrived.Sub(<-service.sent).Seconds()*1000)
		}
		service.seen <- struct{}{}
	}
	if len(lags) != b.N {
		b.Fatalf("%d of %d pieces came", len(lags), b.N)
	}
	slices.Sort(lags)
	b.ReportMetric(lags[len(lags)/2], "median-ms")
}
