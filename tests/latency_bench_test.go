package tests

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// latency is what the server takes for each answer.
const latency = 500 * time.Millisecond

// BenchmarkTurn measures a turn of agents that agree, over HTTP, against the
// latencies on its critical path: two rounds of calls at once are two latencies,
// a panel of one is one. It reports
//
//	ratio        the turn's time over those latencies
//	bare-ratio   the same for bare calls of the adapter, as many and as parallel
//	calls        how many calls the server counted in a turn
func BenchmarkTurn(b *testing.B) {
	for _, agents := range []int{1, 3, 100} {
		b.Run(fmt.Sprintf("agents=%d", agents), func(b *testing.B) {
			rounds := 2
			if agents == 1 {
				rounds = 1
			}
			p := newPanel(b, panelOptions{agents: agents}, func(c backendtest.Call) backendtest.Reply {
				reply := agreeable(c)
				reply.Delay = latency
				return reply
			})
			bare := bareCalls(b, agents, rounds, p.server.BaseURL)
			floor := time.Duration(rounds) * latency
			var turns, calls time.Duration
			counted := 0
			for b.Loop() {
				before := len(p.server.Bodies())
				began := time.Now()
				if r := p.askIn(b, fmt.Sprint("session ", before), "energy?"); r.Winner == "" {
					b.Fatalf("%+v", r)
				}
				turns += time.Since(began)
				counted += len(p.server.Bodies()) - before
				began = time.Now()
				bare()
				calls += time.Since(began)
			}
			n := float64(b.N)
			b.ReportMetric(float64(turns)/float64(floor)/n, "ratio")
			b.ReportMetric(float64(calls)/float64(floor)/n, "bare-ratio")
			b.ReportMetric(float64(counted)/n, "calls")
		})
	}
}

// bareCalls returns a function that makes the calls of a turn without a panel:
// rounds one after the other, the calls of a round at once.
func bareCalls(b *testing.B, agents, rounds int, baseURL string) func() {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: agents}
	b.Cleanup(transport.CloseIdleConnections)
	backend, err := openai.New(openai.Config{BaseURL: baseURL, Transport: transport})
	if err != nil {
		b.Fatal(err)
	}
	request := backends.Request{Model: "bare", Messages: []backends.Message{backends.User("energy?")}}
	return func() {
		for range rounds {
			var calls sync.WaitGroup
			for range agents {
				calls.Go(func() {
					if _, err := backends.Collect(backend.Stream(context.Background(), request), nil); err != nil {
						b.Error(err)
					}
				})
			}
			calls.Wait()
		}
	}
}
