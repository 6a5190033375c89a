package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/system/sleep"
)

// The server notices after 30 s that a machine is gone: it probes a silent connection after 15 s, three times.
const (
	silentProbes  = "15"
	probeInterval = "5"
	probeCount    = "3"
)

// signPause is the time between two tries to show a sign again.
const signPause = 250 * time.Millisecond

// Signs are signs of life in the database of a store. They are safe for concurrent use.
type Signs struct{ server *server }

// Signs returns the signs of life in the database.
func (s *Store) Signs() Signs { return Signs{s.owner.server} }

// Show shows the sign of life of a name, a lock of one connection, until hide is called. It returns when the sign is
// shown. If the connection is lost, another one shows the sign as soon as the server can be reached.
func (s Signs) Show(ctx context.Context, name string) (hide func(), err error) {
	config := s.server.pool.Config().ConnConfig
	parameters := config.RuntimeParams
	parameters["tcp_keepalives_idle"], parameters["tcp_keepalives_interval"], parameters["tcp_keepalives_count"] = silentProbes, probeInterval, probeCount
	conn, err := show(ctx, config, name)
	if err != nil {
		return nil, fault(s.server.name, "show a sign of life", err)
	}
	showing, end := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		keepShown(showing, conn, func() (*pgx.Conn, error) { return show(showing, config, name) })
	}()
	return func() {
		end()
		<-done
	}, nil
}

// keepShown shows a sign until ctx is done: on conn, and after that is lost on connections that show opens.
func keepShown(ctx context.Context, conn *pgx.Conn, show func() (*pgx.Conn, error)) {
	for {
		_, err := conn.WaitForNotification(ctx) // nobody notifies it: the connection is lost, or ctx is done
		if err == nil {
			continue
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), signPause)
		_ = conn.Close(closing) // it may be closed
		cancel()
		for err != nil {
			if sleep.For(ctx, signPause) != nil {
				return
			}
			conn, err = show()
		}
	}
}

// show opens a connection that has the lock of a name.
func show(ctx context.Context, config *pgx.ConnConfig, name string) (*pgx.Conn, error) {
	var conn *pgx.Conn
	err := whenRoom(ctx, func() (err error) { conn, err = pgx.ConnectConfig(ctx, config); return err })
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", signOf(name)); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx)) // the connection is of no use
		return nil, err
	}
	return conn, nil
}

// IsShown reports whether a process shows the sign of life of a name.
func (s Signs) IsShown(ctx context.Context, name string) (isShown bool, err error) {
	err = s.server.pool.QueryRow(ctx, "SELECT NOT pg_try_advisory_xact_lock_shared($1)", signOf(name)).Scan(&isShown)
	return isShown, fault(s.server.name, "look for a sign of life", err)
}

// signOf returns the number of the lock of a name.
func signOf(name string) int64 {
	sum := sha256.Sum256([]byte("massgen sign " + name))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
