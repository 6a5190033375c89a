package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/tests/backendtest"
)

// value is what a query finds in the database.
func value[T any](w *world, query string) (found T, err error) {
	ctx := context.WithoutCancel(w.t.Context())
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		return found, err
	}
	err = conn.QueryRow(ctx, query).Scan(&found)
	return found, errors.Join(err, conn.Close(ctx))
}

// is reports whether a condition holds in the database.
func (w *world) is(condition string) bool {
	w.t.Helper()
	holds, err := value[bool](w, "SELECT "+condition)
	ok(w.t, err)
	return holds
}

// someoneWaits is the condition that an attempt waits for the limits of use.
const someoneWaits = "EXISTS (SELECT FROM accounts WHERE next <> '')"

// limited begins a turn of n agents on two workers, without answering any call.
func (w *world) limited(n int, limits string, arrived func()) (*service, *process) {
	w.t.Helper()
	s := newService(w.t, agreeable)
	s.held = func(backendtest.Call) bool {
		arrived()
		return true
	}
	config := w.config(s.agents(n, "providers: {chatcompletion: {"+limits+"}}")...)
	w.worker("worker1", config)
	w.worker("worker2", config)
	return s, w.ask(config, "energy?")
}

// TestLimitsHoldOverWorkers has two workers make the calls of one turn.
func TestLimitsHoldOverWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, check := range map[string]func(*world){
		"requests per minute":      (*world).checkRequestsPerMinute,
		"calls at a time":          (*world).checkCallsAtATime,
		"a wait that is cancelled": (*world).checkCancelledWait,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(w.of(t))
		})
	}
}

// checkRequestsPerMinute: by the database's clock, no request arrives at the service before
// there is room for it.
func (w *world) checkRequestsPerMinute() {
	const agents, limit = 12, 40
	var mu sync.Mutex
	var arrivals []time.Time
	s, _ := w.limited(agents, "requests_per_minute: 40", func() {
		at, err := value[time.Time](w, "SELECT clock_timestamp()")
		mu.Lock()
		defer mu.Unlock()
		if arrivals = append(arrivals, at); err != nil {
			w.t.Error(err)
		}
	})
	w.until("all agents have called", func() bool { return s.holds() == agents })
	first, err := value[time.Time](w, "SELECT min(booked) FROM attempts")
	ok(w.t, err)
	mu.Lock()
	defer mu.Unlock()
	slices.SortFunc(arrivals, time.Time.Compare)
	burst, inflow := retry.Bucket(limit)
	for i, at := range arrivals {
		const rounding = time.Millisecond
		earliest := time.Duration(i+1-burst) * time.Minute / time.Duration(inflow)
		if after := at.Sub(first); after < earliest-rounding {
			w.t.Errorf("request %d arrived after %s, and there was room for it after %s", i+1, after, earliest)
		}
	}
}

// checkCallsAtATime: while some wait for a place, no more run than may.
func (w *world) checkCallsAtATime() {
	s, client := w.limited(6, "max_concurrent_calls: 2", func() {})
	w.until("two agents call, and others wait", func() bool { return s.holds() >= 2 && w.is(someoneWaits) })
	if n := s.holds(); n != 2 {
		w.t.Errorf("%d calls at a time", n)
	}
	s.free()
	if r := w.result(client); r.Status != "completed" || len(s.Calls()) != 12 {
		w.t.Errorf("%s after %d calls", r.Status, len(s.Calls()))
	}
}

// checkCancelledWait: calls that wait end with their turn, and leave nothing booked.
func (w *world) checkCancelledWait() {
	s, client := w.limited(3, "requests_per_minute: 1", func() {})
	w.until("one agent calls, and others wait", func() bool { return s.holds() == 1 && w.is(someoneWaits) })
	ok(w.t, client.Process.Signal(os.Interrupt))
	if r := w.result(client); r.Status != "interrupted" {
		w.t.Errorf("the turn ended with %s", r.Status)
	}
	w.until("nothing is booked", func() bool {
		// An attempt that was cancelled while it was booked leaves a row without tokens.
		return w.is("NOT " + someoneWaits + " AND NOT EXISTS (SELECT FROM attempts WHERE tokens >= 0)")
	})
}
