package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/temporal/engine"
	"github.com/massgen/massgen/temporal/postgres"
)

// The variables of scripts/temporal.sh: a database in which the tests may make schemas,
// and the program of Temporal.
const (
	databaseTest = "MASSGEN_TEST_DATABASE"
	temporalTest = "MASSGEN_TEST_TEMPORAL"
)

// programVariable has the settings with which the test's binary is massgen-temporal.
const programVariable = "MASSGEN_TEST_SETTINGS"

func TestMain(m *testing.M) {
	massgen.Launcher()
	if address := os.Getenv(deskVariable); address != "" {
		os.Exit(serveTools(address))
	}
	if text := os.Getenv(bareVariable); text != "" {
		os.Exit(bare(text))
	}
	if text := os.Getenv(programVariable); text != "" {
		os.Exit(program(text))
	}
	if os.Getenv(databaseTest) == "" || os.Getenv(temporalTest) == "" {
		fmt.Fprintf(os.Stderr, "%s or %s is missing: run these tests with scripts/temporal.sh\n", databaseTest, temporalTest)
		os.Exit(1)
	}
	status := m.Run()
	killCommonServer()
	os.Exit(status)
}

// settingsOfTest are what a test changes.
type settingsOfTest struct {
	engine.Settings
	Lease time.Duration `json:"lease"`
	// DiesAt is after which event of a journal a worker dies.
	DiesAt *int
}

// program is massgen-temporal with settings of a test.
func program(settings string) int {
	var s settingsOfTest
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return app.ExitUsage
	}
	env, c := app.System(), &cluster{settings: s.Settings, lease: s.Lease}
	env.Cluster = c
	if s.DiesAt != nil {
		env.Cluster = &mortal{c, *s.DiesAt}
	}
	return app.Main(os.Args, env)
}

// world is a Temporal server, a database, and a folder in which programs run.
type world struct {
	t        testing.TB
	dir      string
	server   *server
	address  string
	database string
	way      string // to the database for programs, empty for the address of the database
	settings settingsOfTest
	flags    []string // of workers
	serving  []string // flags of servers that are watched
	program  string   // empty for the test's own
	env      []string // more variables of programs
}

// newWorld is a world on the common server. No worker counts as lost that is only slow.
func newWorld(t testing.TB) *world {
	t.Helper()
	s, err := commonServer()
	ok(t, err)
	return worldOn(t, s)
}

// losingHeartbeat is for worlds in which something is killed: a worker that was not heard for
// so long is lost. A worker that lives is heard every five seconds.
const losingHeartbeat = 10 * time.Second

// newLosingWorld is a world in which workers are killed.
func newLosingWorld(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.settings.Heartbeat = losingHeartbeat
	return w
}

// newWorldAlone is a world that may kill its server.
func newWorldAlone(t testing.TB) *world {
	t.Helper()
	s, err := newServer(filepath.Join(t.TempDir(), "temporal.db"))
	ok(t, err)
	t.Cleanup(s.kill)
	return worldOn(t, s)
}

func worldOn(t testing.TB, s *server) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), server: s, address: s.address, database: newDatabase(t)}
	w.settings = settingsOfTest{Settings: engine.Settings{Heartbeat: time.Minute}, Lease: lease}
	return w
}

// newDatabase is a schema of the database, which goes after the test.
func newDatabase(t testing.TB) string {
	t.Helper()
	return newDatabaseAt(t, os.Getenv(databaseTest))
}

// newDatabaseAt is a schema of the database at an address.
func newDatabaseAt(t testing.TB, address string) string {
	t.Helper()
	at, err := url.Parse(address)
	ok(t, err)
	schema := fmt.Sprintf("test_%x", rand.Uint64())
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), address)
		ok(t, err)
		_, err = conn.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+schema+" CASCADE")
		ok(t, err)
		ok(t, conn.Close(context.Background()))
	})
	query := at.Query()
	query.Set("search_path", schema)
	query.Set("idle_in_transaction_session_timeout", "5min") // no process is lost that is only slow
	at.RawQuery = query.Encode()
	return at.String()
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience is how long a test waits for what a machine does at once that has little to do.
const patience = 5 * time.Minute

// until waits for something that another process does.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	const pause = 20 * time.Millisecond
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			w.t.Fatalf("%s: not within %s", what, patience)
		}
		<-time.After(pause)
	}
}

// config writes a panel, whose lines are agents, and returns its file.
func (w *world) config(lines ...string) string {
	w.t.Helper()
	file := filepath.Join(w.dir, "panel.yaml")
	ok(w.t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return file
}

// process is massgen-temporal as it runs.
type process struct {
	*exec.Cmd
	stdout, stderr output
	// ended is closed when it has ended.
	ended chan struct{}
}

// output is what a process has written so far. Its methods may be called concurrently.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs massgen-temporal in a folder of its own.
func (w *world) start(folder string, args ...string) *process {
	w.t.Helper()
	return w.startAt(nil, folder, args...)
}

// startAt does that at a terminal, unless that is nil.
func (w *world) startAt(terminal *os.File, folder string, args ...string) *process {
	w.t.Helper()
	settings, err := json.Marshal(w.settings)
	ok(w.t, err)
	return w.launch(terminal, folder, cmp.Or(w.program, os.Args[0]), append([]string{programVariable + "=" + string(settings)}, w.env...), args...)
}

// launch runs a program with more variables, in a folder of its own.
func (w *world) launch(terminal *os.File, folder, program string, env []string, args ...string) *process {
	w.t.Helper()
	dir := filepath.Join(w.dir, folder)
	ok(w.t, os.MkdirAll(dir, 0o700))
	p := &process{Cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr = dir, &p.stdout, &p.stderr
	if terminal != nil {
		p.Stdin, p.Stderr = terminal, terminal
	}
	p.Env = append(env, "GORACE="+os.Getenv("GORACE"), "HOME="+dir, "TMPDIR="+os.TempDir(), "PATH="+os.Getenv("PATH"), "MASSGEN_DATABASE="+cmp.Or(w.way, w.database))
	ok(w.t, p.Start())
	go func() {
		_ = p.Wait() // its status is in ProcessState
		close(p.ended)
	}()
	w.t.Cleanup(func() {
		p.kill()
		if w.t.Failed() {
			w.t.Logf("%s: %s\n%s", folder, strings.Join(args, " "), p.stderr.String())
		}
	})
	return p
}

func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

// queue is the queue of the workers of this world, and of no other on its server.
func (w *world) queue() string { return filepath.Base(filepath.Dir(w.dir)) + filepath.Base(w.dir) }

// working is the command line of a worker for a config.
func (w *world) working(config string) []string {
	return append([]string{"worker", "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue()}, w.flags...)
}

// worker starts a worker for a config, and returns when the server knows that it is at work.
func (w *world) worker(folder, config string) *process {
	w.t.Helper()
	return w.workerWith(folder, config)
}

// workerWith is worker with more flags.
func (w *world) workerWith(folder, config string, more ...string) *process {
	w.t.Helper()
	p := w.start(folder, append(w.working(config), more...)...)
	server := w.dial()
	w.until(folder+" is at work", func() bool {
		queue, err := server.DescribeTaskQueue(w.t.Context(), w.queue(), enums.TASK_QUEUE_TYPE_ACTIVITY)
		return err == nil && slices.ContainsFunc(queue.GetPollers(), func(known *taskqueue.PollerInfo) bool {
			return strings.HasPrefix(known.GetIdentity(), strconv.Itoa(p.Process.Pid)+"@")
		})
	})
	return p
}

// ask starts a client that asks one question.
func (w *world) ask(config, question string, more ...string) *process {
	w.t.Helper()
	args := []string{"--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(), "--session-id", "s", "--json", "--automation"}
	return w.start("client", append(append(args, more...), question)...)
}

// result waits for a client's result.
func (w *world) result(p *process) (r report.Result) {
	w.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		ok(w.t, p.Process.Signal(syscall.SIGQUIT))
		<-p.ended
		w.t.Fatalf("the client does not end: %s", w.pending())
	}
	if err := json.Unmarshal([]byte(p.stdout.String()), &r); err != nil {
		w.t.Fatalf("exit status %d, %v: %s\n%s", p.ProcessState.ExitCode(), err, p.stdout.String(), p.stderr.String())
	}
	return r
}

// pending tells what a turn waits for.
func (w *world) pending() string {
	w.t.Helper()
	found, err := w.dial().DescribeWorkflowExecution(w.t.Context(), w.workflow(), "")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(found.WorkflowExecutionInfo.Status, found.PendingActivities, found.PendingWorkflowTask)
}

// store opens the store that all share.
func (w *world) store() *postgres.Store {
	w.t.Helper()
	s, err := postgres.Open(w.t.Context(), w.database)
	ok(w.t, err)
	w.t.Cleanup(func() { ok(w.t, s.Close()) })
	return s
}
