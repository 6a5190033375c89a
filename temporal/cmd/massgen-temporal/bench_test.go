package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/tests/backendtest"
)

// bareVariable has the bareSettings with which the test's binary plays a bare workflow.
const bareVariable = "MASSGEN_TEST_BARE"

// bareSettings are of a process that plays a workflow with the calls of a turn and nothing else, or asks for one.
type bareSettings struct {
	Address, Queue, URL string
	Agents              int
	IsWorker            bool
}

// bareParcel is what each activity of the bare workflow gets and returns: one kilobyte.
type bareParcel struct {
	URL, Model string
	Filling    []byte
}

func newBareParcel(url, model string) bareParcel { return bareParcel{url, model, make([]byte, 768)} }

// bareCall asks a model, or does nothing if there is none.
func bareCall(ctx context.Context, p bareParcel) (bareParcel, error) {
	if p.Model == "" {
		return p, nil
	}
	body, err := json.Marshal(map[string]any{"model": p.Model, "stream": true, "messages": []map[string]string{{"role": "user", "content": "energy?"}}})
	if err != nil {
		return p, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return p, err
	}
	request.Header.Set("Authorization", "Bearer sk-any")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return p, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return p, fmt.Errorf("the model answers %s", response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return p, err
}

// bareTurn has an activity before two rounds of calls, and one after them, as a turn has.
func bareTurn(ctx workflow.Context, url string, agents int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	nothing := func() error {
		return workflow.ExecuteActivity(ctx, bareCall, newBareParcel(url, "")).Get(ctx, nil)
	}
	if err := nothing(); err != nil {
		return err
	}
	for range 2 {
		var calls []workflow.Future
		for i := range agents {
			calls = append(calls, workflow.ExecuteActivity(ctx, bareCall, newBareParcel(url, fmt.Sprint("agent", i+1))))
		}
		for _, call := range calls {
			if err := call.Get(ctx, nil); err != nil {
				return err
			}
		}
	}
	return nothing()
}

// bare is a process with bareSettings. It returns the exit status.
func bare(text string) int {
	err := func() error {
		var s bareSettings
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return err
		}
		c, err := client.Dial(client.Options{HostPort: s.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
		if err != nil {
			return err
		}
		defer c.Close()
		if s.IsWorker {
			w := worker.New(c, s.Queue, worker.Options{})
			w.RegisterWorkflow(bareTurn)
			w.RegisterActivity(bareCall)
			return w.Run(worker.InterruptCh())
		}
		run, err := c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{TaskQueue: s.Queue}, bareTurn, s.URL, s.Agents)
		if err != nil {
			return err
		}
		return run.Get(context.Background(), nil)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startBare starts such a process.
func (w *world) startBare(s bareSettings) *process {
	w.t.Helper()
	settings, err := json.Marshal(s)
	ok(w.t, err)
	return w.launch(nil, "bare", os.Args[0], []string{bareVariable + "=" + string(settings)})
}

// BenchmarkTurn measures the wall time of a client's process, from its start to its end, over the critical path: two
// rounds of calls of half a second. A bare workflow with the same calls is measured beside it, in turns.
// make bench-temporal runs ten of each. The metrics are the best of all runs: massgen and bare in seconds, and their ratio.
func BenchmarkTurn(b *testing.B) {
	const latency = 500 * time.Millisecond
	for _, panel := range []struct {
		name   string
		agents int
		more   []string
	}{
		{"3", 3, nil},
		{"10", 10, nil},
		{"30", 30, nil},
		{"30 with a budget", 30, []string{"budget: {max_tokens: 10000000}"}},
		{"100", 100, nil},
	} {
		b.Run(panel.name, func(b *testing.B) {
			w := newWorld(b)
			s := newService(b, func(c backendtest.Call) backendtest.Reply {
				reply := agreeable(c)
				reply.Delay = latency
				return reply
			})
			config := w.config(s.agents(panel.agents, panel.more...)...)
			w.worker("worker", config)
			settings := bareSettings{Address: w.address, Queue: w.queue() + "-bare", URL: s.BaseURL, Agents: panel.agents, IsWorker: true}
			w.startBare(settings)
			settings.IsWorker = false
			var ours, bares []time.Duration
			timed := func(walls *[]time.Duration, start func() *process) {
				began := time.Now()
				p := start()
				<-p.ended
				*walls = append(*walls, time.Since(began))
				if status := p.ProcessState.ExitCode(); status != 0 {
					b.Fatalf("exit status %d: %s", status, p.stderr.String())
				}
			}
			run := 0
			turn := func() *process {
				run++
				args := []string{"--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(), "--session-id", fmt.Sprint("s", run), "--json", "--automation", "energy?"}
				return w.start("client", args...)
			}
			timed(new([]time.Duration), func() *process { return w.startBare(settings) }) // the first ones set up
			timed(new([]time.Duration), turn)
			for b.Loop() {
				timed(&bares, func() *process { return w.startBare(settings) })
				timed(&ours, turn)
			}
			if n, want := len(s.Calls()), 4*panel.agents*run; n != want {
				b.Errorf("%d calls, not %d", n, want)
			}
			best, bestBare := slices.Min(ours).Seconds(), slices.Min(bares).Seconds()
			b.ReportMetric(best, "massgen-s")
			b.ReportMetric(bestBare, "bare-s")
			b.ReportMetric(best/bestBare, "massgen/bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkThroughput measures turns at once, each begun by a process of its own, as part of the throughput of
// processes that play their own turns with SQLite, and beside as many bare workflows with the same calls.
func BenchmarkThroughput(b *testing.B) {
	const turns = 50
	w := newWorld(b)
	s := newService(b, agreeable)
	config := w.config(s.agents(3)...)
	w.worker("worker", config)
	settings := bareSettings{Address: w.address, Queue: w.queue() + "-bare", URL: s.BaseURL, Agents: 3, IsWorker: true}
	w.startBare(settings)
	settings.IsWorker = false
	<-w.startBare(settings).ended // when its worker is there
	played := 0
	play := func(flags func(folder string) []string) time.Duration {
		b.Helper()
		began := time.Now()
		var all []*process
		for range turns {
			played++
			folder := fmt.Sprint("client", played)
			args := append([]string{"--config", config, "--session-id", folder, "--json", "--automation"}, flags(folder)...)
			all = append(all, w.start(folder, append(args, "energy?")...))
		}
		for _, p := range all {
			if r := w.result(p); r.Status != "completed" {
				b.Errorf("%s: %s", strings.Join(p.Args, " "), r.Status)
			}
		}
		return time.Since(began)
	}
	for b.Loop() {
		local := play(func(folder string) []string {
			return []string{"--engine", "local", "--state-dir", filepath.Join(w.dir, folder)}
		})
		remote := play(func(string) []string { return []string{"--temporal-address", w.address, "--temporal-queue", w.queue()} })
		began := time.Now()
		var bares []*process
		for range turns {
			bares = append(bares, w.startBare(settings))
		}
		for _, p := range bares {
			if <-p.ended; p.ProcessState.ExitCode() != 0 {
				b.Error(p.stderr.String())
			}
		}
		played += turns
		b.ReportMetric(turns/time.Since(began).Seconds(), "bare-turns/s")
		b.ReportMetric(turns/local.Seconds(), "local-turns/s")
		b.ReportMetric(turns/remote.Seconds(), "turns/s")
		b.ReportMetric(local.Seconds()/remote.Seconds(), "turns/local")
	}
	if n := len(s.Calls()); n != (played+1)*6 {
		b.Errorf("%d requests of %d turns", n, played+1)
	}
}
