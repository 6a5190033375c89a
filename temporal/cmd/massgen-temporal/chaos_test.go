package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

var chaosTime = flag.Duration("chaos", 0, "how long TestChaos breaks things; 0 is 20s, or 10m with -kill-everywhere")

// database is a PostgreSQL server of one test, which may restart it.
type ownDatabase struct{ address, restart string }

// newOwnDatabase starts one, which ends with the test.
func newOwnDatabase(t testing.TB) ownDatabase {
	t.Helper()
	run := exec.Command("bash", filepath.Join("..", "..", "..", "scripts", "postgres.sh"), "bash", "-c",
		`printf '%s\n' "$MASSGEN_TEST_DATABASE" "$MASSGEN_TEST_RESTART"; cat >/dev/null`)
	in, err := run.StdinPipe()
	ok(t, err)
	out, err := run.StdoutPipe()
	ok(t, err)
	run.Stderr = os.Stderr
	ok(t, run.Start())
	t.Cleanup(func() { ok(t, errors.Join(in.Close(), run.Wait())) })
	lines := bufio.NewScanner(out)
	var said []string
	for len(said) < 2 && lines.Scan() {
		said = append(said, lines.Text())
	}
	if len(said) < 2 {
		t.Fatalf("scripts/postgres.sh says %q", said)
	}
	return ownDatabase{said[0], said[1]}
}

// restartAs restarts the server in a mode of pg_ctl.
func (d ownDatabase) restartAs(mode string) error {
	if out, err := exec.Command("bash", "-c", d.restart+" "+mode+" >/dev/null").CombinedOutput(); err != nil {
		return fmt.Errorf("restart PostgreSQL: %w: %s", err, out)
	}
	return nil
}

// kept is a program that is started again whenever it has ended, as a service manager does.
type kept struct {
	*world
	name string
	args []string

	mu      sync.Mutex
	current *process
	count   int
	over    bool
}

// keep starts a program, until the test ends.
func (w *world) keep(name string, args ...string) *kept {
	k := &kept{world: w, name: name, args: args}
	k.begin()
	w.t.Cleanup(k.finish)
	return k
}

// begin starts the program beside the one of before, which may have ended or be about to.
func (k *kept) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return
	}
	k.count++
	p := k.start(fmt.Sprint(k.name, "-", k.count), k.args...)
	k.current = p
	go func() {
		<-p.ended
		if k.now() == p {
			time.Sleep(time.Second)
			k.begin()
		}
	}()
}

func (k *kept) now() *process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// finish keeps the program from being started again.
func (k *kept) finish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
}

// chaos is a world in which everything breaks, under a constant load.
type chaos struct {
	*world
	load     *load
	config   string
	database ownDatabase
	workers  []*kept
	server   *kept
	url      string
	stop     chan struct{} // closed when no more turns begin

	mu       sync.Mutex
	clients  []*process
	sessions []string
	answered map[string]bool // the sessions whose turn was answered
}

// most is the budget of calls of each turn.
const mostOfChaos = 8

// TestChaos: while workers are killed, frozen and ended, both servers restart, and clients are killed, every turn
// ends, no finished call is made again, and budgets hold.
func TestChaos(t *testing.T) {
	t.Parallel()
	long := *chaosTime
	switch {
	case long == 0 && *killEverywhere:
		long = 10 * time.Minute
	case long == 0:
		long = 20 * time.Second
	}
	c := newChaos(t)
	var askers sync.WaitGroup
	for i := range 8 {
		askers.Go(func() { c.keepAsking(i) })
	}
	faults := c.faults()

	for end := time.Now().Add(long); time.Now().Before(end); {
		for _, i := range rand.Perm(len(faults)) {
			if time.Now().After(end) {
				break
			}
			t.Log(time.Now().Format(time.TimeOnly), faults[i].name)
			faults[i].run()
			time.Sleep(time.Second + rand.N(3*time.Second))
		}
	}
	close(c.stop)
	c.check(&askers)
}

func newChaos(t testing.TB) *chaos {
	t.Helper()
	own := newOwnDatabase(t)
	w := newWorldAlone(t)
	w.database = newDatabaseAt(t, own.address)
	w.settings.Heartbeat = losingHeartbeat
	anew := restless()
	l := newLoad(t, time.Second, func(call backendtest.Call) backendtest.Reply {
		if strings.Contains(call.User(), "spends all") {
			return anew(call)
		}
		return agreeable(call)
	})
	config := w.config(l.agents(3, fmt.Sprintf("budget: {max_calls: %d}", mostOfChaos))...)
	c := &chaos{world: w, load: l, config: config, database: own, stop: make(chan struct{}), answered: map[string]bool{}}
	w.worker("first", config).kill() // the store is there now
	for _, name := range []string{"ada", "bob", "eve"} {
		c.workers = append(c.workers, w.keep(name, w.working(config)...))
	}
	address, err := freeAddress()
	ok(t, err)
	c.url = "http://" + address
	c.server = w.keep("server", "serve", "--listen", address, "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue())
	w.until("the server serves", func() bool {
		response, err := http.Get(c.url + "/v1/models")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	return c
}

type fault struct {
	name string
	run  func()
}

func (c *chaos) faults() []fault {
	worker := func() *kept { return c.workers[rand.N(len(c.workers))] }
	signal := func(p *process, s syscall.Signal) { _ = p.Process.Signal(s) } // it may have ended
	return []fault{
		{"a worker is killed", func() { worker().now().kill() }},
		{"a worker is frozen", func() {
			p := worker().now()
			signal(p, syscall.SIGSTOP)
			time.Sleep(rand.N(15 * time.Second))
			signal(p, syscall.SIGCONT)
		}},
		{"a worker is told to end, beside a new one", func() {
			k := worker()
			p := k.now()
			k.begin()
			signal(p, syscall.SIGTERM)
		}},
		{"Temporal is killed", func() {
			c.world.server.kill()
			time.Sleep(rand.N(5 * time.Second))
			if err := c.world.server.start(); err != nil {
				c.t.Error(err)
			}
		}},
		{"PostgreSQL restarts", func() {
			if err := c.database.restartAs([]string{"fast", "immediate"}[rand.N(2)]); err != nil {
				c.t.Error(err)
			}
		}},
		{"a client is killed", func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.clients) > 0 {
				c.clients[rand.N(len(c.clients))].kill()
			}
		}},
		{"the HTTP server is killed", func() { c.server.now().kill() }},
	}
}

// keepAsking asks one question after the other, by the HTTP server and by clients of their own.
func (c *chaos) keepAsking(asker int) {
	for i := 0; ; i++ {
		select {
		case <-c.stop:
			return
		default:
		}
		session := fmt.Sprintf("s%d-%d", asker, i)
		text := questionOf(session)
		if i%4 == 3 {
			text += " It spends all."
		}
		c.mu.Lock()
		c.sessions = append(c.sessions, session)
		c.mu.Unlock()
		if (asker+i)%2 == 0 {
			s := &served{world: c.world, url: c.url}
			if _, err := s.answer(c.t.Context(), asks(session, text)); err != nil { // its server was killed, perhaps
				time.Sleep(time.Second)
				continue
			}
		} else if !c.client(session, text) {
			continue
		}
		c.mu.Lock()
		c.answered[session] = true
		c.mu.Unlock()
	}
}

// client asks by a process, and reports whether that has printed a result.
func (c *chaos) client(session, text string) bool {
	p := c.start("client-"+session, "--config", c.config, "--temporal-address", c.address, "--temporal-queue", c.queue(), "--session-id", session, "--json", "--automation", text)
	c.mu.Lock()
	c.clients = append(c.clients, p)
	c.mu.Unlock()
	<-p.ended
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.clients {
		if other == p {
			c.clients = append(c.clients[:i], c.clients[i+1:]...)
			break
		}
	}
	return p.ProcessState.ExitCode() == 0
}

// check waits for all turns, and checks each.
func (c *chaos) check(askers *sync.WaitGroup) {
	c.t.Helper()
	askers.Wait()
	store := c.store()
	turns := 0
	for _, session := range c.sessions {
		isThere := true
		c.until("the turn of session "+session+" is over", func() bool {
			list, err := store.Turns(c.t.Context(), session, 0)
			if errors.Is(err, sessions.ErrNoSession) || err == nil && len(list) == 0 {
				isThere = c.answered[session] || len(c.load.requests(session)) > 0
				return !isThere
			}
			return err == nil && !list[0].Ended.IsZero()
		})
		if isThere {
			turns++
			c.load.checkTurn(c.t, store, session, mostOfChaos)
		}
	}
	for _, k := range append(c.workers, c.server) {
		k.finish()
	}
	c.t.Logf("%d turns, of which %d were answered; %d calls, of which %d were made again", turns, len(c.answered), len(c.load.Calls()), c.load.again())
	if turns < 4 || len(c.answered) == 0 {
		c.t.Error("there was no load")
	}
}
