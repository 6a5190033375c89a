package app_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/leaks"
)

// awayCluster is a Cluster whose database and engine are away until they are let in.
type awayCluster struct {
	app.Cluster
	database, engine atomic.Bool
	// broken is an error of the database that no wait mends, nil for none.
	broken error
}

// OpenStore implements app.Cluster.
func (c *awayCluster) OpenStore(context.Context, app.DatabaseAddress) (store.Shared, error) {
	switch {
	case c.broken != nil:
		return nil, c.broken
	case !c.database.Load():
		return nil, sessions.Away(errors.New("10.0.0.7 is out of reach"))
	}
	return sharedMemory{sessions.NewMemory()}, nil
}

// Measure implements app.Cluster.
func (c *awayCluster) Measure(*metrics.Registry) {}

// Connect implements app.Cluster.
func (c *awayCluster) Connect(context.Context, app.ClusterAddress) (coordinator.Remote, io.Closer, error) {
	if !c.engine.Load() {
		return nil, nil, sessions.Away(errors.New("there is no Temporal server at 10.0.0.8"))
	}
	return noEngine{}, io.NopCloser(nil), nil
}

// noEngine plays no turns.
type noEngine struct{ coordinator.Remote }

// sharedMemory is a store in memory in the place of a database.
type sharedMemory struct{ sessions.Keeper }

// Close implements store.Shared.
func (sharedMemory) Close() error { return nil }

// Database implements store.Shared.
func (sharedMemory) Database() (id, place string) { return "id", "memory" }

// Limiter implements store.Shared.
func (sharedMemory) Limiter(string, retry.Limits) retry.Limiter { return nil }

// freePort returns an address that nobody listens to.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nobody has connected
	return l.Addr().String()
}

// startAway starts a server of a Cluster, and returns what it says, its status, and how to interrupt it.
func startAway(c *awayCluster, args ...string) (stderr *tape, status chan int, stop chan os.Signal) {
	stderr, status, stop = newTape(), make(chan int, 1), make(chan os.Signal)
	go func() {
		status <- app.Main(append([]string{"massgen-temporal", "serve", "--database", "postgres://db/massgen"}, args...), app.Env{
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr, Interrupts: stop, LocalServers: map[string]string{},
			Lookup: func(string) (string, bool) { return "", false }, Cluster: c,
		})
	}()
	return stderr, status, stop
}

// TestServerAnswersWhileItsServersAreAway: supervisors see that it runs and is not ready, and why. Then it serves.
func TestServerAnswersWhileItsServersAreAway(t *testing.T) {
	leaks.Check(t)
	defer http.DefaultClient.CloseIdleConnections()
	cluster, address := &awayCluster{}, freePort(t)
	stderr, status, stop := startAway(cluster, "--listen", address, "--config", "@examples/three_agents")
	until := func(path string, code int, text string) {
		t.Helper()
		last := ""
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			response, err := http.Get("http://" + address + path)
			if err != nil {
				last = err.Error()
				continue
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close() // it was only read
			if last = string(body); err == nil && response.StatusCode == code && strings.Contains(last, text) {
				return
			}
		}
		t.Errorf("%s: %s\n%s", path, last, stderr)
	}
	until("/healthz", http.StatusOK, "ok")
	until("/readyz", http.StatusServiceUnavailable, "waits for the database\n")
	until("/v1/models", http.StatusServiceUnavailable, `"code":"unavailable"`)
	stderr.await(t, "waiting: --database")
	cluster.database.Store(true)
	until("/readyz", http.StatusServiceUnavailable, "waits for Temporal\n")
	until("/healthz", http.StatusOK, "ok")
	cluster.engine.Store(true)
	until("/v1/models", http.StatusOK, "three_agents")
	stop <- os.Interrupt
	if s := <-status; s != 0 {
		t.Errorf("exit status %d: %s", s, stderr)
	}
}

// TestInterruptEndsAServerThatWaits, and no error is shown.
func TestInterruptEndsAServerThatWaits(t *testing.T) {
	leaks.Check(t)
	stderr, status, stop := startAway(&awayCluster{}, "--listen", "127.0.0.1:0", "--config", "@examples/three_agents")
	stderr.await(t, "waiting: --database")
	stop <- os.Interrupt
	if s := <-status; s != 0 || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit status %d: %s", s, stderr)
	}
}

// TestServerEndsWhereNoWaitHelps, with one line, also while the database is away.
func TestServerEndsWhereNoWaitHelps(t *testing.T) {
	leaks.Check(t)
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = used.Close() }() // nobody has connected
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("agents: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		broken error
		args   []string
	}{
		"does not let this user in": {errors.New("the store does not let this user in"), []string{"--listen", "127.0.0.1:0", "--config", "@examples/three_agents"}},
		"--listen":                  {nil, []string{"--listen", used.Addr().String(), "--config", "@examples/three_agents"}},
		"bad.yaml":                  {nil, []string{"--listen", "127.0.0.1:0", "--config", bad}},
		"--temporal-tls-key":        {nil, []string{"--listen", "127.0.0.1:0", "--config", "@examples/three_agents", "--temporal-tls-key", "key.pem"}},
	} {
		stderr, status, _ := startAway(&awayCluster{broken: c.broken}, c.args...)
		select {
		case s := <-status:
			if text := stderr.String(); s != 1 || !strings.Contains(text, want) || strings.Count(text, "\n") != 1 {
				t.Errorf("%s: exit status %d: %s", want, s, text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it does not end: %s", want, stderr)
		}
	}
}
