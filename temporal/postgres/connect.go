package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/massgen/massgen/internal/system/sleep"
)

// Use says how a process uses the connections to the database.
type Use struct {
	// Brief is for a process that mostly waits, such as a client: it has at most two connections at a time, and
	// closes each within 100 ms after its last use.
	Brief bool
	// Pooler is for a server behind a pooler that gives each transaction another connection, such as PgBouncer
	// with pool_mode=transaction. Nothing then outlives a transaction: no prepared statement, no setting and no
	// session lock.
	Pooler bool
	// Made is called with the place of a store that was made because there was none. It may be nil.
	Made func(place string)
}

// The limits of a Brief use.
const (
	briefConnections = 2
	briefIdle        = 50 * time.Millisecond
)

// apply adapts the configuration of a pool, except for what the address says itself.
func (u Use) apply(config *pgxpool.Config) {
	if u.Brief {
		config.MaxConns = min(config.MaxConns, briefConnections)
		config.MinConns, config.MinIdleConns = 0, 0
		config.MaxConnIdleTime, config.HealthCheckPeriod = briefIdle, briefIdle
	}
	if u.Pooler {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		config.ConnConfig.RuntimeParams = map[string]string{"application_name": config.ConnConfig.RuntimeParams["application_name"]}
	}
}

// checkSchema returns an error unless statements use a schema by the settings of the database's user: a process
// behind a pooler has no settings of its own.
func checkSchema(ctx context.Context, conn *pgx.Conn, schema string) error {
	var path string
	if err := conn.QueryRow(ctx, "SELECT current_setting('search_path')").Scan(&path); err != nil {
		return err
	}
	if first, _, _ := strings.Cut(path, ","); strings.Trim(first, `" `) == schema {
		return nil
	}
	return fmt.Errorf("%w behind a pooler: the search_path of its user is %s: run ALTER ROLE CURRENT_USER SET search_path = %s as this user, and RECONNECT the pooler", errUnsuited, path, schema)
}

// crowdPatience is how long a process waits for a server that has no connection free. It tries again after pauses of
// random length, at most crowdPause, so that waiting processes do not come all at once.
const (
	crowdPatience = 10 * time.Minute
	crowdPause    = 2 * time.Second
)

// isCrowded reports whether a server, or a pooler, has no connection free.
func isCrowded(err error) bool {
	return codeOf(err) == codeConnections || err != nil && strings.Contains(err.Error(), "no more connections allowed")
}

// whenRoom runs do again while the server has no connection free.
func whenRoom(ctx context.Context, do func() error) error {
	for end := time.Now().Add(crowdPatience); ; {
		err := do()
		if !isCrowded(err) || time.Now().After(end) || sleep.For(ctx, pause+rand.N(crowdPause)) != nil {
			return err
		}
	}
}
