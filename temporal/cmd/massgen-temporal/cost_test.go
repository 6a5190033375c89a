package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// newDatabaseAlone is a database whose transactions the server counts apart. It goes after the test.
func newDatabaseAlone(t testing.TB) (address string, transactions func() int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), os.Getenv(databaseTest))
	ok(t, err)
	name := fmt.Sprintf("cost_%x", rand.Uint64())
	_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name)
	ok(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		_, err := conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		ok(t, err)
		ok(t, conn.Close(ctx))
	})
	at, err := url.Parse(os.Getenv(databaseTest))
	ok(t, err)
	at.Path = "/" + name
	return at.String(), func() (n int) {
		// The server counts the last transactions of a process when that has ended.
		w := &world{t: t}
		w.until("nobody uses the database", func() bool {
			var uses int
			ok(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", name).Scan(&uses))
			return uses == 0
		})
		ok(t, conn.QueryRow(t.Context(), "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1", name).Scan(&n))
		return n
	}
}

// TestTurnCostsLittle counts what a turn of 30 agents leaves in the history of its workflow, and
// the transactions of its client and its worker, with and without a budget.
func TestTurnCostsLittle(t *testing.T) {
	for name, budget := range map[string][]string{"no budget": nil, "budget": {"budget: {max_tokens: 10000000}"}} {
		t.Run(name, func(t *testing.T) {
			const agents, mostTransactions, mostHistory = 30, 400, 350_000
			w := newWorld(t)
			address, transactions := newDatabaseAlone(t)
			w.database = address
			s := newService(t, agreeable)
			config := w.config(s.agents(agents, budget...)...)
			worker := w.worker("worker", config)
			r := w.result(w.ask(config, "energy?"))
			if r.Status != "completed" || r.Usage.Calls != 2*agents {
				t.Errorf("%s after %d calls", r.Status, r.Usage.Calls)
			}
			found, err := w.dial().DescribeWorkflowExecution(t.Context(), w.workflow(), "")
			ok(t, err)
			ok(t, worker.Process.Signal(os.Interrupt))
			<-worker.ended
			history := found.WorkflowExecutionInfo
			n := transactions()
			t.Logf("%d transactions, %d events of %d bytes", n, history.HistoryLength, history.HistorySizeBytes)
			if n > mostTransactions {
				t.Errorf("%d transactions, more than %d", n, mostTransactions)
			}
			if history.HistorySizeBytes > mostHistory {
				t.Errorf("a history of %d bytes, more than %d", history.HistorySizeBytes, mostHistory)
			}
		})
	}
}

var manyAgents = flag.Bool("many-agents", false, "play a turn of 1,000 agents too")

// TestLargePanelsPlay: the messages of a turn stay small enough for the server.
func TestLargePanelsPlay(t *testing.T) {
	sizes := []int{100}
	if *manyAgents {
		sizes = append(sizes, 1000)
	}
	for _, agents := range sizes {
		t.Run(fmt.Sprint(agents), func(t *testing.T) {
			w := newWorld(t)
			s := newService(t, agreeable)
			config := w.config(s.agents(agents)...)
			w.worker("worker", config)
			began := time.Now()
			r := w.result(w.ask(config, "energy?"))
			if r.Status != "completed" || r.Winner != "agent2" || r.Usage.Calls != 2*agents || len(s.Calls()) != 2*agents {
				t.Errorf("%s after %d calls of %d, %s has won", r.Status, r.Usage.Calls, len(s.Calls()), r.Winner)
			}
			found, err := w.dial().DescribeWorkflowExecution(t.Context(), w.workflow(), "")
			ok(t, err)
			t.Logf("%v, %d events of %d bytes", time.Since(began), found.WorkflowExecutionInfo.HistoryLength, found.WorkflowExecutionInfo.HistorySizeBytes)
		})
	}
}
