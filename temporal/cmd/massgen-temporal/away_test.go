package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	historypb "go.temporal.io/api/history/v1"
	"golang.org/x/sync/errgroup"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/temporal/engine"
)

// aways are how long something is away: longer than a worker may be silent. The longest
// ones are for -kill-everywhere.
func aways() []time.Duration {
	if *killEverywhere {
		return []time.Duration{0, 20 * time.Second, time.Minute}
	}
	return []time.Duration{0, 20 * time.Second}
}

// checkAway takes something away while the call of agent3 ends. The worker has the call's result, so no
// call is repeated.
func checkAway(t *testing.T, world func(testing.TB) *world, leave, comeBack func(*world, *process)) {
	t.Helper()
	for _, long := range aways() {
		t.Run(long.String(), func(t *testing.T) {
			t.Parallel()
			w := world(t)
			w.settings.Heartbeat = 0 // the program's own
			s, client, working, _ := w.inMidTurn("worker")
			leave(w, working[0])
			s.free()
			<-time.After(long)
			comeBack(w, working[0])
			w.checkUnrepeated(s, w.result(client), 0)
		})
	}
}

// TestTheServerIsKilled, and comes back with what it has kept.
func TestTheServerIsKilled(t *testing.T) {
	t.Parallel()
	checkAway(t, newWorldAlone, func(w *world, _ *process) { w.server.kill() }, func(w *world, _ *process) { ok(w.t, w.server.start()) })
}

// TestAWorkerIsFrozen, as a machine that sleeps.
func TestAWorkerIsFrozen(t *testing.T) {
	t.Parallel()
	tell := func(signal syscall.Signal) func(*world, *process) {
		return func(w *world, p *process) { ok(w.t, p.Process.Signal(signal)) }
	}
	checkAway(t, newWorld, tell(syscall.SIGSTOP), tell(syscall.SIGCONT))
}

// TestAWorkerIsFrozenBesideAnother, while its call ends: the other waits for the result, also when it has missed
// heartbeats twice.
func TestAWorkerIsFrozenBesideAnother(t *testing.T) {
	t.Parallel()
	w := newLosingWorld(t)
	var least time.Duration
	if *killEverywhere {
		w.settings.Heartbeat, least = 0, time.Minute
	}
	s, client, _, _ := w.inMidTurn("worker1", "worker2")
	caller := w.caller()
	ok(t, syscall.Kill(caller, syscall.SIGSTOP))
	frozen := time.Now()
	t.Cleanup(func() { _ = syscall.Kill(caller, syscall.SIGCONT) }) // before it is killed; it may have gone on
	s.free()
	w.until("the worker is watched", func() bool {
		return slices.ContainsFunc(w.histories()[0].Events, func(ev *historypb.HistoryEvent) bool {
			return ev.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "massgen.watch"
		})
	})
	<-time.After(max(2*losingHeartbeat, time.Until(frozen.Add(least))))
	ok(t, syscall.Kill(caller, syscall.SIGCONT))
	w.checkUnrepeated(s, w.result(client), 0)
}

// TestTheDatabaseIsAway: nobody can reach it for a while.
func TestTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	way := map[*world]*wire{}
	var mu sync.Mutex
	wireOf := func(w *world) *wire {
		mu.Lock()
		defer mu.Unlock()
		return way[w]
	}
	checkAway(t, func(t testing.TB) *world {
		w := newWorld(t)
		mu.Lock()
		defer mu.Unlock()
		way[w] = w.wired()
		return w
	}, func(w *world, _ *process) { wireOf(w).cut() }, func(w *world, _ *process) { ok(w.t, wireOf(w).mend()) })
}

// wire is the way to the database.
type wire struct {
	from, network, to string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
	group    sync.WaitGroup
}

// wired leads the programs' way to the database over a wire that can be cut.
func (w *world) wired() *wire {
	w.t.Helper()
	at, err := url.Parse(w.database)
	ok(w.t, err)
	config, err := pgconn.ParseConfig(w.database)
	ok(w.t, err)
	from, err := freeAddress()
	ok(w.t, err)
	c := &wire{from: from}
	c.network, c.to = pgconn.NetworkAddress(config.Host, config.Port)
	ok(w.t, c.mend())
	w.t.Cleanup(c.group.Wait)
	w.t.Cleanup(c.cut)
	query := at.Query()
	query.Del("host")
	query.Del("port")
	at.Host, at.RawQuery = from, query.Encode()
	w.way = at.String()
	return c
}

// cut ends all connections, and takes none any more.
func (c *wire) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.listener.Close() // it may be closed
	for conn := range c.open {
		_ = conn.Close() // likewise
	}
}

// mend takes connections again.
func (c *wire) mend() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	listener, err := net.Listen("tcp", c.from)
	if err != nil {
		return err
	}
	c.listener, c.open = listener, map[net.Conn]bool{}
	c.group.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			c.group.Go(func() { c.carry(near) })
		}
	})
	return nil
}

// carry carries one connection, until one of its ends closes it.
func (c *wire) carry(near net.Conn) {
	far, err := net.Dial(c.network, c.to)
	if err != nil {
		_ = near.Close() // who has called sees that nobody answers
		return
	}
	c.mu.Lock()
	c.open[near], c.open[far] = true, true
	c.mu.Unlock()
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // that it ends is all there is to know
		_ = to.Close()           // it may be closed
		_ = from.Close()         // likewise
	}
	c.group.Go(func() { pass(far, near) })
	pass(near, far)
}

// TestManyTurnsAtOnce on one worker: none is lost, and none is played twice. Their client names no
// database, as clients before version 5 of the store do.
func TestManyTurnsAtOnce(t *testing.T) {
	t.Parallel()
	turns := 50
	if *killEverywhere {
		turns = 200
	}
	w := newWorld(t)
	s := newService(t, alone)
	file := w.config(s.agents(1)...)
	w.worker("worker", file)
	config, err := configs.Load(file, configs.Options{})
	ok(t, err)
	digest, err := config.Digest()
	ok(t, err)
	e, err := engine.Dial(t.Context(), engine.Options{Address: w.address, Queue: w.queue()})
	ok(t, err)
	defer func() { ok(t, e.Close()) }()
	terms := coordinator.TurnOptions{Config: digest, Rules: kernel.Defaults()}
	terms.Rules.Agents = []string{"agent1"}
	var group errgroup.Group
	for i := range turns {
		group.Go(func() error {
			remote, err := e.Begin(context.WithoutCancel(t.Context()), fmt.Sprint("s", i), fmt.Sprint("question ", i), terms)
			if err != nil {
				return err
			}
			return remote.Wait(t.Context(), func() {})
		})
	}
	ok(t, group.Wait())
	store := w.store()
	for i := range turns {
		kept, err := store.Turns(t.Context(), fmt.Sprint("s", i), 0)
		ok(t, err)
		if len(kept) != 1 || kept[0].Status != kernel.Completed || kept[0].Answer != fmt.Sprintf("It is question %d, after 1 messages.", i) {
			t.Errorf("session %d: %+v", i, kept)
		}
	}
	for body, n := range s.asked() {
		if n != 1 {
			t.Errorf("%d times: %.300s", n, body)
		}
	}
	if n := len(s.Calls()); n != turns {
		t.Errorf("%d requests", n)
	}
}
