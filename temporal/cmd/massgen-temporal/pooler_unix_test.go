//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// pooled lets the programs reach a database by way of a PgBouncer that gives each transaction another connection. The
// database is that of a user of its own.
func (w *world) pooled() (user, schema string, admin *pgx.Conn) {
	w.t.Helper()
	bouncer, err := exec.LookPath("pgbouncer")
	if err != nil {
		bouncer = "/usr/sbin/pgbouncer" // which is not in the PATH of every user
	}
	to, err := pgconn.ParseConfig(os.Getenv(databaseTest))
	ok(w.t, err)
	at, err := url.Parse(w.database)
	ok(w.t, err)
	schema = at.Query().Get("search_path")
	admin = w.admin()
	user = fmt.Sprintf("user_%x", rand.Uint64())
	_, err = admin.Exec(w.t.Context(), fmt.Sprintf("CREATE ROLE %s LOGIN; GRANT CREATE ON DATABASE postgres TO %[1]s", user))
	ok(w.t, err)
	from, err := freeAddress()
	ok(w.t, err)
	_, port, err := net.SplitHostPort(from)
	ok(w.t, err)
	dir, err := os.MkdirTemp("", "pgbouncer")
	ok(w.t, err)
	w.t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left does no harm
	ini, users := filepath.Join(dir, "pgbouncer.ini"), filepath.Join(dir, "users")
	settings := fmt.Sprintf(`[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
server_reset_query_always = 1
server_reset_query = DISCARD ALL
default_pool_size = 5
max_client_conn = 500
`, to.Host, to.Port, port, users)
	ok(w.t, os.WriteFile(users, fmt.Appendf(nil, "%q \"\"\n", user), 0o644))
	ok(w.t, os.WriteFile(ini, []byte(settings), 0o644))
	ok(w.t, os.Chmod(dir, 0o755))
	run := exec.Command(bouncer, "-q", ini)
	run.SysProcAttr = asPostgres(w.t)
	log, err := os.Create(filepath.Join(w.dir, "pgbouncer.log"))
	ok(w.t, err)
	run.Stderr, run.Stdout = log, log
	ok(w.t, run.Start())
	w.t.Cleanup(func() {
		_ = run.Process.Kill() // it may have ended
		_ = run.Wait()         // by that
		if w.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			w.t.Logf("pgbouncer: %s", text)
		}
		ok(w.t, log.Close())
	})
	w.until("pgbouncer answers", func() bool {
		conn, err := net.Dial("tcp", from)
		return err == nil && conn.Close() == nil
	})
	query := url.Values{"search_path": {schema}, "sslmode": {"disable"}}
	w.way = fmt.Sprintf("postgres://%s@%s/%s?%s", user, from, to.Database, query.Encode())
	return user, schema, admin
}

// asPostgres is the user that pgbouncer runs as, which refuses root.
func asPostgres(t testing.TB) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	other, err := user.Lookup("postgres")
	ok(t, err)
	uid, err := strconv.ParseUint(other.Uid, 10, 32)
	ok(t, err)
	gid, err := strconv.ParseUint(other.Gid, 10, 32)
	ok(t, err)
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// TestATurnThroughAPooler: with --database-pooler a turn plays from its client through its worker, though no two
// transactions of a process have the same connection. Without the schema in the settings of the database's user the
// program says what to do.
func TestATurnThroughAPooler(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, schema, admin := w.pooled()
	s := newService(t, agreeable)
	config := w.config(s.agents(3, "providers:", "  openai: {requests_per_minute: 6000}")...)
	refused := w.ask(config, "energy?", "--database-pooler")
	<-refused.ended
	if said := refused.stderr.String(); refused.ProcessState.ExitCode() != 1 || !strings.Contains(said, "run ALTER ROLE CURRENT_USER SET search_path = ") {
		t.Errorf("exit status %d: %s", refused.ProcessState.ExitCode(), said)
	}
	_, err := admin.Exec(t.Context(), fmt.Sprintf("ALTER ROLE %s IN DATABASE postgres SET search_path = %s", user, schema))
	ok(t, err)
	_, err = admin.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", user) // the pooler connects anew
	ok(t, err)
	w.workerWith("worker", config, "--database-pooler")
	for _, question := range []string{"energy?", "and then?"} {
		if r := w.result(w.ask(config, question, "--database-pooler")); r.Status != kernel.Completed || r.Answer != winner {
			t.Errorf("%s: %s, %q", question, r.Status, r.Answer)
		}
	}
	again := w.again(config, "--database-pooler")
	if <-again.ended; again.stdout.String() != winner+"\n" {
		t.Errorf("the answer is %q: %s", again.stdout.String(), again.stderr.String())
	}
}
