package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/tests/backendtest"
)

// admin is a connection to the tests' database with all rights.
func (w *world) admin() *pgx.Conn {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), os.Getenv(databaseTest))
	ok(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close(w.t.Context()) }) // it was only used by the test
	return conn
}

// crowded lets the programs reach the database as a user who may have so many connections. PostgreSQL refuses one more
// with the code of max_connections.
func (w *world) crowded(connections int) (user string, admin *pgx.Conn) {
	w.t.Helper()
	admin = w.admin()
	user = fmt.Sprintf("user_%x", rand.Uint64())
	_, err := admin.Exec(w.t.Context(), fmt.Sprintf("CREATE ROLE %s LOGIN CONNECTION LIMIT %d; GRANT CREATE ON DATABASE postgres TO %[1]s", user, connections))
	ok(w.t, err)
	at, err := url.Parse(w.database)
	ok(w.t, err)
	query := at.Query()
	query.Set("user", user)
	at.RawQuery = query.Encode()
	w.way = at.String()
	return user, admin
}

// manyClients are how many clients wait at once, and how many connections they may have: those of a server with
// max_connections 20 or 100, which keeps three for its administrator.
func manyClients() (clients, connections int) {
	if *killEverywhere {
		return 200, 97
	}
	return 40, 17
}

// TestManyClientsWait for their turns at a server that has fewer connections than there are clients. None is refused,
// and none has a connection while it waits.
func TestManyClientsWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, connections := manyClients()
	user, admin := w.crowded(connections)
	s := newService(t, alone)
	s.held = func(backendtest.Call) bool { return true }
	config := w.config(s.agents(1)...)
	w.worker("worker", config)
	var clients []*process
	for i := range n {
		clients = append(clients, w.start(fmt.Sprint("client", i), "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(),
			"--session-id", fmt.Sprint("s", i), "--json", "--automation", fmt.Sprint("question ", i)))
	}
	w.until("all turns wait for their models", func() bool { return s.holds() == n })
	w.until("no client has a connection", func() bool {
		var open int
		ok(t, admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE usename = $1", user).Scan(&open))
		return open <= mostOfAWorker
	})
	s.free()
	for i, client := range clients {
		if r := w.result(client); r.Status != kernel.Completed || r.Answer != fmt.Sprintf("It is question %d, after 1 messages.", i) {
			t.Errorf("client %d: %s, %q: %s", i, r.Status, r.Answer, client.stderr.String())
		}
	}
}

// mostOfAWorker is the most connections that a worker has: those of its pool, and its sign of life.
var mostOfAWorker = max(4, runtime.NumCPU()) + 1

// again starts a client that goes on with session s.
func (w *world) again(config string, more ...string) *process {
	w.t.Helper()
	args := []string{"--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(), "--session-id", "s", "--continue"}
	return w.start("client", append(args, more...)...)
}

// heldTurn is a world with a worker and a config of three agents, whose models answer when the test says so.
func heldTurn(t testing.TB) (w *world, s *service, config string) {
	t.Helper()
	w = newWorld(t)
	s = newService(t, agreeable)
	s.held = isBlind
	config = w.config(s.agents(3)...)
	w.worker("worker", config)
	return w, s, config
}

// TestDetach: the client ends once the turn has begun, and names the session. Another watches the turn to its end,
// and --continue prints the answer again when the turn is over.
func TestDetach(t *testing.T) {
	t.Parallel()
	w, s, config := heldTurn(t)
	client := w.ask(config, "energy?", "--detach")
	if r := w.result(client); client.ProcessState.ExitCode() != 0 || r.SessionID != "s" || r.Turn != 1 || r.Status != "running" || r.Question != "energy?" {
		t.Errorf("exit status %d, %s", client.ProcessState.ExitCode(), client.stdout.String())
	}
	if said := client.stderr.String(); !strings.Contains(said, "--session-id s --continue watches it") {
		t.Errorf("it says %q", said)
	}
	watching := w.again(config, "--json", "--automation")
	s.free()
	first := w.result(watching)
	again := w.again(config)
	<-again.ended
	if answer := again.stdout.String(); first.Answer != winner || answer != winner+"\n" || again.ProcessState.ExitCode() != 0 {
		t.Errorf("the answer is %q, and printed again %q, exit status %d: %s", first.Answer, answer, again.ProcessState.ExitCode(), again.stderr.String())
	}
	if later := w.result(w.again(config, "--json")); later.Answer != winner || later.Status != kernel.Completed || len(later.Answers) != 3 {
		t.Errorf("the result printed again is %+v", later)
	}
	plain := w.start("client", "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(), "--detach", "-q", "and then?")
	<-plain.ended
	id := strings.TrimSpace(plain.stdout.String())
	if _, err := w.store().Session(t.Context(), id); err != nil {
		t.Errorf("it prints %q: %v", id, err)
	}
	alone := w.ask(config, "energy?", "--detach", "--engine", "local")
	<-alone.ended
	if said := alone.stderr.String(); alone.ProcessState.ExitCode() != 1 || !strings.Contains(said, "--detach: workers must play the turn") {
		t.Errorf("exit status %d, %s", alone.ProcessState.ExitCode(), said)
	}
}

// TestATerminatedClientLeavesItsTurn to the workers, and says how to watch it. Ctrl-C ends the turn.
func TestATerminatedClientLeavesItsTurn(t *testing.T) {
	t.Parallel()
	w, s, config := heldTurn(t)
	client := w.ask(config, "energy?")
	w.until("the models are asked", func() bool { return s.holds() == 3 })
	ok(t, client.Process.Signal(syscall.SIGTERM))
	<-client.ended
	if said := client.stderr.String(); client.ProcessState.ExitCode() != 4 || !strings.Contains(said, "the workers go on with the turn") || !strings.Contains(said, "--continue") {
		t.Errorf("exit status %d: %s", client.ProcessState.ExitCode(), said)
	}
	watching := w.again(config, "--json", "--automation")
	s.free()
	if r := w.result(watching); r.Status != kernel.Completed || r.Answer != winner {
		t.Errorf("%s, %q", r.Status, r.Answer)
	}
}
