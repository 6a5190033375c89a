package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/sessions"
)

// Lease is how long a session is held for an owner of whom nothing is heard.
const Lease = 15 * time.Second

// Store is a store of sessions in a schema of a database. It is safe for concurrent use, and
// so is the schema: by other Stores, in other processes and on other machines.
type Store struct {
	*sessions.Store
	owner *owner
}

// owner is who holds sessions through a Store.
type owner struct {
	*server
	id    string
	lease time.Duration
	// shared says that others may be at work for the same owner.
	shared bool
	// hasHeld reports that a session may have been held.
	hasHeld atomic.Bool
}

// server is what the Stores of one Open share.
type server struct {
	pool   *pgxpool.Pool
	use    Use
	tracer *tracer
	// db is the same database for sqlstore, with connections of pool.
	db *sqlstore.DB
	// name is the database, where it is, and the schema, for people.
	name string
	// database is the store's id.
	database string

	mu sync.Mutex
	// holds and attempts are the leases that this process prolongs, with their lengths.
	holds    map[hold]time.Duration
	attempts map[string]time.Duration
	// atWork counts the calls of AtWork that have not ended, by hold.
	atWork map[hold]int

	stop   func() // ends the beats, and waits
	closed sync.Once
}

// patience is how long to wait for a server that restarts or is out of reach, and pause is the wait between two tries.
const (
	patience = 10 * time.Second
	pause    = 100 * time.Millisecond
)

// lostInTransaction is the setting after which the server ends an idle transaction, and so frees its locks.
const lostInTransaction = "idle_in_transaction_session_timeout"

// Open opens the store at an address such as postgres://USER:PASSWORD@HOST/DATABASE,
// or in the form of libpq's keywords and values; what it leaves out comes from libpq's
// variables (PGHOST, PGPASSWORD ...) and files. The store is in the schema that
// search_path names there, by default massgen, and is made if that is not there or is
// empty. Open changes no schema of an existing store, Migrate does: this program works with
// stores of the version before its own to the one after it. A schema that is no store, or one
// that this program cannot use, is left as it was, and the error says what to do about it.
// Errors never have the password.
func Open(ctx context.Context, address string) (*Store, error) {
	return open(ctx, address, Use{}, Lease, Lease/beatsPerLease)
}

// OpenTo is Open for a process that uses the connections in its own way.
func OpenTo(ctx context.Context, address string, use Use) (*Store, error) {
	return open(ctx, address, use, Lease, Lease/beatsPerLease)
}

// open opens a store whose leases last for so long, and are prolonged so often.
func open(ctx context.Context, address string, use Use, lease, every time.Duration) (*Store, error) {
	config, err := configOf(address)
	if err != nil {
		return nil, err
	}
	counts := &tracer{}
	config.ConnConfig.Tracer = counts
	name, schema := place(config), schemaOf(config)
	use.apply(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fault(name, "open", err)
	}
	s := &server{tracer: counts, pool: pool, name: name, use: use, holds: map[hold]time.Duration{}, atWork: map[hold]int{}, attempts: map[string]time.Duration{}}
	if err := whenRoom(ctx, func() error { return s.prepare(ctx, schema) }); err != nil {
		pool.Close()
		return nil, fault(s.name, "open", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	s.db = sqlstore.NewDB(dialect(s.name), texts{s}, db, db)
	s.beat(every)
	return newStore(&owner{server: s, id: rand.Text(), lease: lease}), nil
}

func newStore(o *owner) *Store {
	return &Store{sessions.NewStore(backing{sqlstore.New(o.db, leases{o}), o.server}), o}
}

// backing implements sessions.Backing.
type backing struct {
	*sqlstore.Store
	*server
}

// configOf reads the address of a store, as Open takes it.
func configOf(address string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		// The cause may quote the password.
		return nil, errors.New("the address of the PostgreSQL store cannot be read: write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	parameters := config.ConnConfig.RuntimeParams
	if parameters["search_path"] == "" {
		parameters["search_path"] = "massgen"
	}
	if parameters["application_name"] == "" {
		parameters["application_name"] = "massgen"
	}
	if parameters[lostInTransaction] == "" {
		parameters[lostInTransaction] = "5s"
	}
	if schema := schemaOf(config); !schemaName.MatchString(schema) {
		return nil, fmt.Errorf("search_path=%q names no schema that a store can be in: name one, of lower-case letters, digits and underscores", schema)
	}
	return config, nil
}

func schemaOf(config *pgxpool.Config) string { return config.ConnConfig.RuntimeParams["search_path"] }

// schemaName is a name that needs no quotes, in SQL and in search_path.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// place says where a store is, without a password.
func place(config *pgxpool.Config) string {
	c := config.ConnConfig
	host := c.Host
	if !strings.HasPrefix(host, "/") { // the folder of a socket
		host = net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	}
	return fmt.Sprintf("%s on %s, schema %s", c.Database, host, schemaOf(config))
}

// As returns the store for an owner who is at work in several processes: all that have
// the same name hold the same sessions. They are held for so long after the last word
// of any of them. The Store that As was called on closes what both use.
func (s *Store) As(name string, lease time.Duration) *Store {
	return newStore(&owner{server: s.owner.server, id: name, lease: lease, shared: true})
}

// Close lets go of the sessions that this Store holds, whose turns count as interrupted
// then, and closes the connections to the database. On a Store that As returned it does
// nothing.
func (s *Store) Close() (err error) {
	if s.owner.shared {
		return nil
	}
	s.owner.closed.Do(func() {
		s.owner.stop()
		defer s.owner.pool.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if s.owner.hasHeld.Load() {
			err = whenRoom(ctx, func() error {
				_, err := s.owner.pool.Exec(ctx, "DELETE FROM holds WHERE owner = $1", s.owner.id)
				return err
			})
		}
		err = errors.Join(err, s.owner.db.Close())
	})
	return fault(s.owner.name, "let go of the sessions that are held", err)
}

// Database returns the random id that the store got when it was made, and where the store is,
// for people and without a password. A copy of the database has the same id.
func (s *Store) Database() (id, place string) { return s.owner.database, s.owner.name }
