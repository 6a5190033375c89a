package sqlstore

import (
	"context"
	"database/sql"
	"errors"
)

// writer holds the one connection that writes to a database that prepares statements (Dialect.Prepares).
// One transaction, or one short read, uses it at a time. The connection prepares each statement once. With
// a pool, a statement that a transaction prepares would end with the transaction.
type writer struct {
	pool *sql.DB
	// free contains the connection while nobody uses it.
	free chan *connection
}

// connection is a connection with its prepared statements. The first use opens it.
type connection struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

func newWriter(pool *sql.DB) *writer {
	w := &writer{pool, make(chan *connection, 1)}
	w.free <- &connection{}
	return w
}

// acquire waits for the connection. The caller must release it.
func (w *writer) acquire(ctx context.Context) (*connection, error) {
	select {
	case c := <-w.free:
		return w.opened(ctx, c)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tryAcquire is acquire that does not wait: it returns nil while the connection is in use.
func (w *writer) tryAcquire(ctx context.Context) (*connection, error) {
	select {
	case c := <-w.free:
		return w.opened(ctx, c)
	default:
		return nil, nil
	}
}

func (w *writer) opened(ctx context.Context, c *connection) (*connection, error) {
	if c.conn != nil {
		return c, nil
	}
	conn, err := w.pool.Conn(ctx)
	if err != nil {
		w.free <- c
		return nil, err
	}
	c.conn, c.prepared = conn, map[string]*sql.Stmt{}
	return c, nil
}

// release ends a use of the connection.
func (w *writer) release(c *connection) { w.free <- c }

// close waits for the connection, and closes it and the pool. Later users get the pool's error.
func (w *writer) close() error {
	err := (<-w.free).close()
	err = errors.Join(err, w.pool.Close())
	w.free <- &connection{}
	return err
}

// close closes the statements too, which database/sql would leave open. SQLite would then keep its log.
func (c *connection) close() (err error) {
	for _, prepared := range c.prepared {
		err = errors.Join(err, prepared.Close())
	}
	if c.conn != nil {
		err = errors.Join(err, c.conn.Close())
	}
	return err
}

// statement returns a prepared statement, which the connection keeps.
func (c *connection) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	prepared := c.prepared[text]
	if prepared == nil {
		var err error
		if prepared, err = c.conn.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
		c.prepared[text] = prepared
	}
	return prepared, nil
}

// query implements Query.
func (c *connection) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	prepared, err := c.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	return prepared.QueryContext(ctx, args...)
}
