package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/massgen/massgen/internal/sleep"
)

// DB is a database and its dialect. It is safe for concurrent use.
type DB struct {
	Dialect
	Texts Texts
	// Write runs transactions that write, and short reads while there are none (Few). Read runs
	// everything else. They may be the same.
	Write, Read *sql.DB
	// writers counts the transactions, and other statements, that write now.
	writers atomic.Int32

	mu sync.Mutex
	// translated are the statements in the dialect; reading and writing are the prepared ones.
	// once has each statement that a transaction has written with.
	translated       map[string]string
	once             map[string]bool
	reading, writing map[string]*sql.Stmt
}

// NewDB returns a database.
func NewDB(d Dialect, texts Texts, write, read *sql.DB) *DB {
	return &DB{
		Dialect: d, Texts: texts, Write: write, Read: read,
		translated: map[string]string{}, once: map[string]bool{}, reading: map[string]*sql.Stmt{}, writing: map[string]*sql.Stmt{},
	}
}

// Close closes the connections.
func (d *DB) Close() error {
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

// Patiently repeats an operation while it fails with a temporary error.
func (d *DB) Patiently(ctx context.Context, do func() error) error {
	for end := time.Now().Add(d.Patience); ; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := do()
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		if err == nil || !d.Passes(err) || time.Now().After(end) {
			return err
		}
		if err := sleep.For(ctx, d.Pause); err != nil {
			return err
		}
	}
}

// Query runs a statement that reads, and returns its rows.
type Query func(ctx context.Context, statement string, args ...any) (*sql.Rows, error)

// query runs a statement on a connection for reading.
func (d *DB) query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	if !d.Prepares {
		return d.Read.QueryContext(ctx, d.translate(statement), args...)
	}
	return d.queryOn(ctx, d.Read, d.reading, statement, args...)
}

// queryFew is query for a statement that returns a few rows at once. While nothing writes, it uses the
// connection that writes, which is open, and has read the schema and most pages: a connection for
// reading would do both first.
func (d *DB) queryFew(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	if !d.Prepares || d.writers.Load() > 0 {
		return d.query(ctx, statement, args...)
	}
	return d.queryOn(ctx, d.Write, d.writing, statement, args...)
}

// Exec runs a statement of the dialect that writes, and that no transaction may contain.
func (d *DB) Exec(ctx context.Context, statement string) error {
	d.writers.Add(1)
	defer d.writers.Add(-1)
	_, err := d.Write.ExecContext(ctx, statement)
	return err
}

// queryOn runs a statement on one of the connections, whose prepared statements are known.
func (d *DB) queryOn(ctx context.Context, db *sql.DB, known map[string]*sql.Stmt, statement string, args ...any) (*sql.Rows, error) {
	prepared, err := d.prepare(ctx, db, known, statement)
	if err != nil {
		return nil, err
	}
	return prepared.QueryContext(ctx, args...)
}

// prepare returns a prepared statement of one of the connections.
func (d *DB) prepare(ctx context.Context, db *sql.DB, known map[string]*sql.Stmt, statement string) (*sql.Stmt, error) {
	d.mu.Lock()
	prepared := known[statement]
	d.mu.Unlock()
	if prepared != nil {
		return prepared, nil
	}
	prepared, err := db.PrepareContext(ctx, d.translate(statement))
	if err != nil {
		return nil, err
	}
	return d.add(known, statement, prepared), nil
}

// add keeps a prepared statement, and returns the one to use: another call may have added it
// first.
func (d *DB) add(to map[string]*sql.Stmt, statement string, prepared *sql.Stmt) *sql.Stmt {
	d.mu.Lock()
	defer d.mu.Unlock()
	if to[statement] == nil {
		to[statement] = prepared
		return prepared
	}
	_ = prepared.Close() // it was never used
	return to[statement]
}

// Rows returns scan's result for each row of a query. It repeats the query while that helps.
func Rows[T any](ctx context.Context, d *DB, what string, scan func(*sql.Rows) (T, error), statement string, args ...any) ([]T, error) {
	return patientRows(ctx, d, what, d.query, scan, statement, args...)
}

// Few is Rows for a query that has a few rows at once.
func Few[T any](ctx context.Context, d *DB, what string, scan func(*sql.Rows) (T, error), statement string, args ...any) ([]T, error) {
	return patientRows(ctx, d, what, d.queryFew, scan, statement, args...)
}

func patientRows[T any](ctx context.Context, d *DB, what string, query Query, scan func(*sql.Rows) (T, error), statement string, args ...any) (list []T, err error) {
	err = d.Patiently(ctx, func() error {
		list, err = Collect(ctx, query, scan, statement, args...)
		return err
	})
	return list, d.Fault(what, err)
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
