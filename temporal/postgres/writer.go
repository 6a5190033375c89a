package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A server that restarts, or is out of reach, is waited for so long.
const (
	patience = 10 * time.Second
	pause    = 100 * time.Millisecond
)

// patiently does something again while it fails by what passes.
func (s *server) patiently(ctx context.Context, do func() error) error {
	for end := time.Now().Add(patience); ; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := do()
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		if err == nil || !passes(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// writer is one transaction. Its first error makes all that follows do nothing, and
// undoes the transaction.
type writer struct {
	ctx context.Context
	tx  pgx.Tx
	err error
	// refused says that err is a refusal of the store's, and nothing has failed.
	refused bool
}

// textsLock is the lock that all share who may name texts, and that those take alone
// who forget them.
const textsLock = "('texts'::regclass::oid::bigint)"

// change runs a transaction that writes. What it is for goes into errors. do may run
// more than once.
func (s *server) change(ctx context.Context, what string, do func(*writer)) error {
	return s.transact(ctx, what, "SELECT pg_advisory_xact_lock_shared"+textsLock, do)
}

// forget runs a transaction that may forget texts, while none runs that may name them.
func (s *server) forget(ctx context.Context, what string, do func(*writer)) error {
	return s.transact(ctx, what, "SELECT pg_advisory_xact_lock"+textsLock, do)
}

func (s *server) transact(ctx context.Context, what, lock string, do func(*writer)) error {
	var refusal error
	err := s.patiently(ctx, func() error {
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }() // after Commit it does nothing, and else what stopped the transaction says more
		w := &writer{ctx: ctx, tx: tx}
		w.exec(lock)
		do(w)
		if w.refused {
			refusal = w.err
			return nil
		}
		if w.err != nil {
			return w.err
		}
		if err := tx.Commit(ctx); err != nil && codeOf(err) == "" {
			return fmt.Errorf("%w: %w", errUnsure, err)
		} else if err != nil {
			return err
		}
		return nil
	})
	if refusal != nil {
		return refusal
	}
	return fault(s.name, what, err)
}

// refuse stops the transaction.
func (w *writer) refuse(err error) {
	if w.err == nil && err != nil {
		w.err, w.refused = err, true
	}
}

// exec runs a statement and returns how many rows it changed.
func (w *writer) exec(text string, args ...any) int64 {
	if w.err != nil {
		return 0
	}
	tag, err := w.tx.Exec(w.ctx, text, args...)
	w.err = err
	return tag.RowsAffected()
}

// row reads one row, and returns false if there is none.
func (w *writer) row(query string, args []any, to ...any) bool {
	if w.err != nil {
		return false
	}
	err := w.tx.QueryRow(w.ctx, query, args...).Scan(to...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false
	}
	w.err = err
	return err == nil
}

// collect runs a query and returns what scan makes of each row.
func collect[T any](w *writer, scan pgx.RowToFunc[T], query string, args ...any) []T {
	if w.err != nil {
		return nil
	}
	rows, err := w.tx.Query(w.ctx, query, args...)
	if err != nil {
		w.err = err
		return nil
	}
	list, err := pgx.CollectRows(rows, scan)
	w.err = err
	return list
}

// id reads the id that a query or an INSERT returns, 0 if there is none.
func (w *writer) id(query string, args ...any) (id int64) {
	w.row(query, args, &id)
	return id
}
