package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Tx is one transaction that writes. After its first error all later operations do nothing, and
// the transaction is undone.
type Tx struct {
	// At is the time that the transaction writes.
	At  time.Time
	ctx context.Context
	db  *DB
	tx  *sql.Tx
	// on is the connection of a database that prepares statements, else nil.
	on  *connection
	err error
	// refused reports whether err is a refusal of the store, and no statement failed.
	refused bool
}

// Change runs a transaction that writes, and may name texts. Errors say what it is for. do may
// run more than once.
func (d *DB) Change(ctx context.Context, what string, do func(*Tx)) error {
	return d.transact(ctx, what, "{share_texts}", do)
}

// Forget runs a transaction that may delete texts, while no transaction runs that may name
// them.
func (d *DB) Forget(ctx context.Context, what string, do func(*Tx)) error {
	return d.transact(ctx, what, "{own_texts}", do)
}

func (d *DB) transact(ctx context.Context, what, lock string, do func(*Tx)) error {
	var refusal error
	err := d.Patiently(ctx, func() error {
		w := &Tx{At: time.Now(), ctx: ctx, db: d}
		return w.run(func() {
			if d.translate(lock) != "" {
				w.Exec(lock)
			}
			do(w)
			if w.refused {
				refusal = w.err
			}
		})
	})
	if refusal != nil {
		return refusal
	}
	return d.Fault(what, err)
}

// run begins the transaction, runs do in it, and commits it unless it was refused.
func (w *Tx) run(do func()) (err error) {
	if w.db.writer == nil {
		w.tx, err = w.db.Write.BeginTx(w.ctx, nil)
	} else if w.on, err = w.db.writer.acquire(w.ctx); err == nil {
		defer w.db.writer.release(w.on)
		// When w.ctx ends, database/sql would roll back in another goroutine, perhaps after the next transaction
		// has begun on this connection.
		w.tx, err = w.on.conn.BeginTx(context.WithoutCancel(w.ctx), nil)
	}
	if err != nil {
		return err
	}
	defer func() { _ = w.tx.Rollback() }() // does nothing after Commit; else the error that stopped the transaction matters more
	do()
	switch {
	case w.refused:
		return nil
	case w.err != nil:
		return w.err
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	}
	err = w.tx.Commit()
	if err != nil && w.db.Unsure != nil {
		return w.db.Unsure(err)
	}
	return err
}

// statement returns a prepared statement, nil if the database needs none.
func (w *Tx) statement(text string) (prepared *sql.Stmt) {
	if w.on != nil && w.err == nil {
		prepared, w.err = w.on.statement(w.ctx, w.db.translate(text))
	}
	return prepared
}

// Refuse stops the transaction with an error that needs no context. Nil does nothing.
func (w *Tx) Refuse(err error) {
	if w.err == nil && err != nil {
		w.err, w.refused = err, true
	}
}

// Failed reports whether the transaction was stopped.
func (w *Tx) Failed() bool { return w.err != nil }

// Exec runs a statement and returns how many rows it changed.
func (w *Tx) Exec(text string, args ...any) int64 {
	prepared := w.statement(text)
	if w.err != nil {
		return 0
	}
	var result sql.Result
	if prepared != nil {
		result, w.err = prepared.ExecContext(w.ctx, args...)
	} else {
		result, w.err = w.tx.ExecContext(w.ctx, w.db.translate(text), args...)
	}
	if w.err != nil {
		return 0
	}
	var rows int64
	rows, w.err = result.RowsAffected()
	return rows
}

// Row reads one row, and returns false if there is none.
func (w *Tx) Row(query string, args []any, to ...any) bool {
	prepared := w.statement(query)
	if w.err != nil {
		return false
	}
	var row *sql.Row
	if prepared != nil {
		row = prepared.QueryRowContext(w.ctx, args...)
	} else {
		row = w.tx.QueryRowContext(w.ctx, w.db.translate(query), args...)
	}
	err := row.Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false
	}
	w.err = err
	return err == nil
}

// ID reads the id that a query or an INSERT returns, 0 if there is none.
func (w *Tx) ID(query string, args ...any) (id int64) {
	w.Row(query, args, &id)
	return id
}

// List returns scan's result for each row of a query.
func List[T any](w *Tx, scan func(*sql.Rows) (T, error), query string, args ...any) (list []T) {
	if w.err == nil {
		list, w.err = Collect(w.ctx, w.query, scan, query, args...)
	}
	return list
}

func (w *Tx) query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return w.tx.QueryContext(ctx, w.db.translate(statement), args...)
}

// mostBytes is the most bytes that one INSERT adds, unless one row has more.
const mostBytes = 16 << 20

// insert adds rows with as few statements as the database allows. Each $ in row stands for one
// value.
func (w *Tx) insert(head, row, tail string, rows [][]any) {
	for from := 0; from < len(rows) && w.err == nil; {
		to, size := from, 0
		for to < len(rows) && to-from < w.db.MostRows && size < mostBytes {
			size += bytesOf(rows[to])
			to++
		}
		if to-from == 1 {
			w.Exec(head+numbered(row, 1)+tail, rows[from]...)
		} else {
			_, w.err = w.tx.ExecContext(w.ctx, w.db.Translate(head+numbered(row, to-from)+tail), flat(rows[from:to])...)
		}
		from = to
	}
}

func bytesOf(row []any) (size int) {
	for _, value := range row {
		if data, ok := value.([]byte); ok {
			size += len(data)
		}
	}
	return size
}

func flat(rows [][]any) (values []any) {
	for _, row := range rows {
		values = append(values, row...)
	}
	return values
}

// numbered returns n rows with commas between them, in which each $ has its number.
func numbered(row string, n int) string {
	var b strings.Builder
	number := 0
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		for _, c := range row {
			b.WriteRune(c)
			if c == '$' {
				number++
				b.WriteString(strconv.Itoa(number))
			}
		}
	}
	return b.String()
}
