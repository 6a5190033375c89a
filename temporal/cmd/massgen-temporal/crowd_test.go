package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// TestACrowdAsksTwoServers at once, with one worker and with four: no turn is lost, and none is played twice.
func TestACrowdAsksTwoServers(t *testing.T) {
	t.Parallel()
	turns := 60
	if *killEverywhere {
		turns = 500
	}
	w := newWorld(t)
	for _, workers := range []int{1, 4} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			w := w.of(t)
			s := newService(t, alone)
			config := w.config(s.agents(1)...)
			for i := range workers {
				w.worker(fmt.Sprint("worker", i+1), config)
			}
			servers := []*served{w.serveIn("server1", config, "--max-runs", "0"), w.serveIn("server2", config, "--max-runs", "0")}
			began := time.Now()
			var all sync.WaitGroup
			for i := range turns {
				all.Go(func() {
					text := fmt.Sprintf("question-%03d?", i)
					answer, err := servers[i%len(servers)].answer(t.Context(), asks(fmt.Sprint("s", i), text))
					if err != nil || !strings.Contains(answer, "It is "+text) {
						t.Errorf("%s: %q, %v", text, answer, err)
					}
				})
			}
			all.Wait()
			t.Logf("%d turns in %s", turns, time.Since(began).Round(time.Millisecond))
			for body, n := range s.asked() {
				if n != 1 {
					t.Errorf("%d times: %.300s", n, body)
				}
			}
			if n := len(s.Calls()); n != turns {
				t.Errorf("%d requests", n)
			}
			store := w.store()
			list, err := store.List(t.Context(), sessions.Filter{Limit: 2 * turns})
			ok(t, err)
			if len(list) != turns {
				t.Errorf("%d sessions", len(list))
			}
			for _, session := range list {
				kept, err := store.Turns(t.Context(), session.ID, 0)
				ok(t, err)
				if len(kept) != 1 || kept[0].Status != kernel.Completed || kept[0].Usage.Calls != 1 {
					t.Errorf("session %s: %+v", session.ID, kept)
				}
			}
		})
	}
}

// leastThroughput is the least throughput of turns on Temporal, as part of that of processes that play their
// own turns with SQLite.
const leastThroughput = 0.3

// TestThroughput of many turns at once, each begun by a process of its own. It does not run in parallel: no
// other test takes its processors.
func TestThroughput(t *testing.T) {
	const turns = 50
	w := newWorld(t)
	s := newService(t, agreeable)
	config := w.config(s.agents(3)...)
	w.worker("worker", config)
	play := func(kind string, flags ...string) time.Duration {
		t.Helper()
		began := time.Now()
		var all []*process
		for i := range turns {
			folder := fmt.Sprint(kind, i)
			args := append([]string{"--config", config, "--session-id", folder, "--json", "--automation"}, flags...)
			if kind == "local" {
				args = append(args, "--engine", "local", "--state-dir", filepath.Join(w.dir, folder))
			}
			all = append(all, w.start(folder, append(args, "energy?")...))
		}
		for _, p := range all {
			if r := w.result(p); r.Status != "completed" {
				t.Errorf("%s: %s", kind, r.Status)
			}
		}
		return time.Since(began)
	}
	local := play("local")
	remote := play("remote", "--temporal-address", w.address, "--temporal-queue", w.queue())
	ratio := local.Seconds() / remote.Seconds()
	t.Logf("%d turns at once: %s in processes of their own, %s on Temporal: %.2f of the throughput", turns, local.Round(time.Millisecond), remote.Round(time.Millisecond), ratio)
	if ratio < leastThroughput {
		t.Errorf("the throughput is %.2f of that of local processes, less than %.2f", ratio, leastThroughput)
	}
	if n := len(s.Calls()); n != 2*turns*6 {
		t.Errorf("%d requests", n)
	}
}
