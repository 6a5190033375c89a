package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/tests/backendtest"
)

// peak returns the most memory that a process had so far, in MB.
func (p *process) peak(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	ok(t, err)
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no VmHWM in %s", text)
	}
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	ok(t, err)
	return kb / 1000
}

// spent ends a process, and returns the processor time that it took.
func (p *process) spent(t testing.TB) time.Duration {
	t.Helper()
	ok(t, p.Process.Signal(syscall.SIGTERM))
	<-p.ended
	return p.ProcessState.UserTime() + p.ProcessState.SystemTime()
}

// tables returns the size of this world's store in bytes.
func (w *world) tables() (bytes int64) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	ok(w.t, err)
	ok(w.t, conn.QueryRow(w.t.Context(), `SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind = 'r'`).Scan(&bytes))
	ok(w.t, conn.Close(w.t.Context()))
	return bytes
}

// BenchmarkSizing measures what an operator must know to choose machines: 50 turns, 25 at a time, asked of one server,
// whose models answer at once with some 2,000 characters. docs/operating.md has its figures.
func BenchmarkSizing(b *testing.B) {
	const turns, together = 50, 25
	answer := strings.Repeat("A sentence of an answer has some fifty characters. ", 40)
	for _, size := range []struct{ agents, workers int }{{3, 1}, {3, 2}, {10, 1}} {
		b.Run(fmt.Sprintf("%d agents, %d workers", size.agents, size.workers), func(b *testing.B) {
			w := newWorld(b)
			s := newService(b, func(c backendtest.Call) backendtest.Reply {
				if isBlind(c) {
					return act("new_answer", `{"content":"%s%s"}`, answer, c.Model())
				}
				return act("vote", `{"agent_id":"agent1","reason":"it is the clearest"}`)
			})
			config := w.config(s.agents(size.agents)...)
			var workers []*process
			for i := range size.workers {
				workers = append(workers, w.worker(fmt.Sprint("worker", i+1), config))
			}
			server := w.serveIn("server", config, "--max-runs", "0")
			play := func(first, n int) {
				free := make(chan struct{}, together)
				var all sync.WaitGroup
				for i := range n {
					free <- struct{}{}
					all.Go(func() {
						defer func() { <-free }()
						if _, err := server.answer(b.Context(), asks(fmt.Sprint("s", first+i), fmt.Sprint("question ", first+i))); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
			play(0, together) // sets up
			played, before, began := 0, w.tables(), time.Now()
			for b.Loop() {
				play(together+played, turns)
				played += turns
			}
			took, after := time.Since(began), w.tables()
			memory, serving := 0.0, server.peak(b)
			for _, p := range workers {
				memory = max(memory, p.peak(b))
			}
			var working time.Duration
			for _, p := range workers {
				working += p.spent(b)
			}
			all := float64(played + together)
			b.ReportMetric(float64(played)/took.Seconds(), "turns/s")
			b.ReportMetric(working.Seconds()*1000/all, "worker-ms/turn")
			b.ReportMetric(server.spent(b).Seconds()*1000/all, "server-ms/turn")
			b.ReportMetric(memory, "worker-MB")
			b.ReportMetric(serving, "server-MB")
			b.ReportMetric(float64(after-before)/1000/float64(played), "kB/turn")
			b.ReportMetric(0, "ns/op")
		})
	}
}
