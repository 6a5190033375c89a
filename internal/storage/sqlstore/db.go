package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/internal/system/sleep"
)

// DB is a database and its dialect. It is safe for concurrent use.
type DB struct {
	Dialect
	Texts Texts
	// Write runs transactions that write. Read runs everything else. They may be the same.
	Write, Read *sql.DB
	// writer holds the one connection of Write if the dialect prepares statements, else it is nil. Nothing
	// else can use Write from the first transaction on.
	writer *writer

	mu         sync.Mutex
	translated map[string]string    // statements in the dialect
	reading    map[string]*sql.Stmt // prepared statements of Read
}

// NewDB returns a database. If the dialect prepares statements, write may have one connection only.
func NewDB(d Dialect, texts Texts, write, read *sql.DB) *DB {
	db := &DB{Dialect: d, Texts: texts, Write: write, Read: read, translated: map[string]string{}, reading: map[string]*sql.Stmt{}}
	if d.Prepares {
		db.writer = newWriter(write)
	}
	return db
}

// Close waits for the transaction that runs, and closes the connections.
func (d *DB) Close() error {
	if d.writer != nil {
		return errors.Join(d.Read.Close(), d.writer.close())
	}
	if d.Read == d.Write {
		return d.Write.Close()
	}
	return errors.Join(d.Read.Close(), d.Write.Close())
}

// Translate returns a text with the dialect's words.
func (d Dialect) Translate(text string) string {
	for word, own := range d.Words {
		text = strings.ReplaceAll(text, "{"+word+"}", own)
	}
	return text
}

// translate is Translate for a statement that is used again.
func (d *DB) translate(statement string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, known := d.translated[statement]
	if !known {
		text = d.Translate(statement)
		d.translated[statement] = text
	}
	return text
}

// Patiently repeats an operation while it fails with a temporary error. When ctx reaches its deadline, the error names the
// last failure, too.
func (d *DB) Patiently(ctx context.Context, do func() error) error {
	try := do
	if d.WhenRoom != nil {
		try = func() error { return d.WhenRoom(ctx, do) }
	}
	var last error
	for end := time.Now().Add(d.Patience); ; {
		if ctx.Err() != nil {
			return lateBy(ctx.Err(), last)
		}
		err := try()
		if err != nil && (last == nil || ctx.Err() == nil) { // at the deadline, the failure before tells more
			last = err
		}
		if ctx.Err() != nil && err != nil {
			return lateBy(ctx.Err(), last)
		}
		if err == nil || !d.Passes(err) || time.Now().After(end) {
			return err
		}
		if err := sleep.For(ctx, d.Pause); err != nil {
			return lateBy(err, last)
		}
	}
}

// lateBy adds the last failure of an operation, if there is one, to the error of a context that reached its deadline.
func lateBy(ended, last error) error {
	if last == nil || last == ended || !errors.Is(ended, context.DeadlineExceeded) { //nolint:errorlint // with nothing around it
		return ended
	}
	return fmt.Errorf("%w: %w", ended, last)
}

// Query runs a statement that reads, and returns its rows.
type Query func(ctx context.Context, statement string, args ...any) (*sql.Rows, error)

// query runs a statement on a connection for reading.
func (d *DB) query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	if !d.Prepares {
		return d.Read.QueryContext(ctx, d.translate(statement), args...)
	}
	prepared, err := d.prepare(ctx, statement)
	if err != nil {
		return nil, err
	}
	return prepared.QueryContext(ctx, args...)
}

// prepare returns a prepared statement for reading.
func (d *DB) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	d.mu.Lock()
	prepared := d.reading[statement]
	d.mu.Unlock()
	if prepared != nil {
		return prepared, nil
	}
	prepared, err := d.Read.PrepareContext(ctx, d.translate(statement))
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.reading[statement]; known != nil { // another call was first
		_ = prepared.Close() // it was never used
		return known, nil
	}
	d.reading[statement] = prepared
	return prepared, nil
}

// Exec runs a statement of the dialect that writes, and that no transaction may contain.
func (d *DB) Exec(ctx context.Context, statement string) error {
	if d.writer == nil {
		_, err := d.Write.ExecContext(ctx, statement)
		return err
	}
	c, err := d.writer.acquire(ctx)
	if err != nil {
		return err
	}
	defer d.writer.release(c)
	_, err = c.conn.ExecContext(ctx, statement)
	return err
}

// Rows returns scan's result for each row of a query. It repeats the query while that helps.
func Rows[T any](ctx context.Context, d *DB, what string, scan func(*sql.Rows) (T, error), statement string, args ...any) (list []T, err error) {
	err = d.Patiently(ctx, func() error {
		list, err = Collect(ctx, d.query, scan, statement, args...)
		return err
	})
	return list, d.Fault(what, err)
}

// Few is Rows for a query that has a few rows at once. While nothing writes, it uses the connection that
// writes, which is open, and has read the schema and most pages: a connection for reading would do both
// first.
func Few[T any](ctx context.Context, d *DB, what string, scan func(*sql.Rows) (T, error), statement string, args ...any) (list []T, err error) {
	err = d.Patiently(ctx, func() error {
		query, release, err := d.fewQuery(ctx)
		if err != nil {
			return err
		}
		defer release()
		list, err = Collect(ctx, query, scan, statement, args...)
		return err
	})
	return list, d.Fault(what, err)
}

// fewQuery returns the query of Few, and what to call when its rows are closed.
func (d *DB) fewQuery(ctx context.Context) (query Query, release func(), err error) {
	if d.writer == nil {
		return d.query, func() {}, nil
	}
	c, err := d.writer.tryAcquire(ctx)
	if c == nil {
		return d.query, func() {}, err
	}
	query = func(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
		return c.query(ctx, d.translate(statement), args...)
	}
	return query, func() { d.writer.release(c) }, nil
}

// Collect returns scan's result for each row of a query, with the database's own errors.
func Collect[T any](ctx context.Context, query Query, scan func(*sql.Rows) (T, error), statement string, args ...any) (list []T, err error) {
	rows, err := query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	list = []T{}
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, rows.Err()
}

// Scan reads a row of one column.
func Scan[T any](rows *sql.Rows) (value T, err error) {
	err = rows.Scan(&value)
	return value, err
}
