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
	// prepared are the statements of this transaction. added are those to keep: this transaction
	// is the second that uses them. Most that begin a turn are used once.
	prepared map[string]*sql.Stmt
	added    []string
	err      error
	// refused says that err is a refusal of the store, and no statement failed.
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
	d.writers.Add(1)
	defer d.writers.Add(-1)
	var refusal error
	err := d.Patiently(ctx, func() error {
		tx, err := d.Write.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // does nothing after Commit; else the error that stopped the transaction matters more
		w := &Tx{At: time.Now(), ctx: ctx, db: d, tx: tx, prepared: map[string]*sql.Stmt{}}
		if d.translate(lock) != "" {
			w.Exec(lock)
		}
		do(w)
		if w.refused {
			refusal = w.err
			return nil
		}
		if w.err != nil {
			return w.err
		}
		err = tx.Commit()
		if err != nil && d.Unsure != nil {
			return d.Unsure(err)
		}
		d.prepareToWrite(ctx, w.added)
		return err
	})
	if refusal != nil {
		return refusal
	}
	return d.Fault(what, err)
}

// prepareToWrite prepares statements for later transactions: within one, its connection is in
// use.
func (d *DB) prepareToWrite(ctx context.Context, statements []string) {
	for _, statement := range statements {
		if _, err := d.prepare(ctx, d.Write, d.writing, statement); err != nil {
			return // the next transaction tries again
		}
	}
}

// statement returns a prepared statement, nil if the database needs none.
func (w *Tx) statement(text string) *sql.Stmt {
	if !w.db.Prepares || w.err != nil {
		return nil
	}
	if prepared := w.prepared[text]; prepared != nil {
		return prepared
	}
	w.db.mu.Lock()
	known, again := w.db.writing[text], w.db.once[text]
	w.db.once[text] = true
	w.db.mu.Unlock()
	var prepared *sql.Stmt
	if known != nil {
		prepared = w.tx.StmtContext(w.ctx, known)
	} else {
		prepared, w.err = w.tx.PrepareContext(w.ctx, w.db.translate(text))
	}
	if known == nil && again {
		w.added = append(w.added, text)
	}
	w.prepared[text] = prepared
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
