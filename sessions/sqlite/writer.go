package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	codes "modernc.org/sqlite/lib"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// writer is one transaction. Its first error makes all that follows do nothing,
// and undoes the transaction.
type writer struct {
	ctx  context.Context
	tx   *sql.Tx
	path string
	what string
	// prepared are the statements so far: an import repeats them for each turn. They
	// end with the transaction.
	prepared map[string]*sql.Stmt
	err      error
}

// change runs a transaction that writes. What it is for goes into errors.
func (s *Store) change(ctx context.Context, what string, do func(*writer)) error {
	var tx *sql.Tx
	err := s.patiently(ctx, func() (err error) {
		tx, err = s.write.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return fault(s.path, what, err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing, and else what stopped the transaction says more
	w := &writer{ctx: ctx, tx: tx, path: s.path, what: what, prepared: map[string]*sql.Stmt{}}
	do(w)
	if w.err != nil {
		return w.err
	}
	return fault(s.path, what, tx.Commit())
}

// patiently does what other processes may be in the way of, again and again.
func (s *Store) patiently(ctx context.Context, do func() error) error {
	for end := time.Now().Add(s.patience); ; {
		err := do()
		if codeOf(err) != codes.SQLITE_BUSY || time.Now().After(end) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// refuse stops the transaction.
func (w *writer) refuse(err error) {
	if w.err == nil { // err may be nil too
		w.err = err
	}
}

// prepare returns a statement, or nil after an error.
func (w *writer) prepare(text string) *sql.Stmt {
	if w.err != nil {
		return nil
	}
	if w.prepared[text] == nil {
		statement, err := w.tx.PrepareContext(w.ctx, text)
		if err != nil {
			w.err = fault(w.path, w.what, err)
			return nil
		}
		w.prepared[text] = statement
	}
	return w.prepared[text]
}

// exec runs a statement and returns how many rows it changed.
func (w *writer) exec(text string, args ...any) int64 {
	statement := w.prepare(text)
	if statement == nil {
		return 0
	}
	result, err := statement.ExecContext(w.ctx, args...)
	if err != nil {
		w.err = fault(w.path, w.what, err)
		return 0
	}
	rows, err := result.RowsAffected()
	w.refuse(fault(w.path, w.what, err))
	return rows
}

// row reads one row, and returns false if there is none.
func (w *writer) row(query string, args []any, to ...any) bool {
	statement := w.prepare(query)
	if statement == nil {
		return false
	}
	err := statement.QueryRowContext(w.ctx, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false
	}
	w.refuse(fault(w.path, w.what, err))
	return err == nil
}

// id reads the id that a query or an INSERT returns, 0 if there is none.
func (w *writer) id(query string, args ...any) (id int64) {
	w.row(query, args, &id)
	return id
}

// text returns the id of a text that turn names, and keeps both. Without data the
// text must be there.
func (w *writer) text(turn int64, ref kernel.Ref, data []byte) int64 {
	sum := sumOf(ref)
	id := w.id("SELECT id FROM texts WHERE sha256 = ? AND length(data) = ?", sum, ref.Bytes)
	if id == 0 && data == nil {
		w.refuse(sessions.NoText(ref))
	}
	if id == 0 {
		id = w.id("INSERT INTO texts (sha256, data) VALUES (?, ?) RETURNING id", sum, data)
	}
	w.exec("INSERT OR IGNORE INTO refs (turn, text) VALUES (?, ?)", turn, id)
	return id
}

// newText returns the id of a text that turn names, and keeps both.
func (w *writer) newText(turn int64, data []byte) int64 {
	return w.text(turn, sessions.RefOf(data), data)
}
