package main

import (
	"fmt"
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
