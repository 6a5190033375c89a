package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
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

// mostOfAWorker is the most connections that an idle worker keeps.
const mostOfAWorker = 5
