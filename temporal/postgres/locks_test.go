package postgres_test

import (
	"errors"
	"testing"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

// naming acts like a transaction that is about to name texts, until release is called.
func naming(t *testing.T, s *postgres.Store) (release func()) {
	t.Helper()
	conn := connect(t)
	const lock = "($1::regclass::oid::bigint)"
	texts := schemaOf(t, s) + ".texts"
	_, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock_shared"+lock, texts)
	ok(t, err)
	return func() {
		t.Helper()
		_, err := conn.Exec(t.Context(), "SELECT pg_advisory_unlock_shared"+lock, texts)
		ok(t, err)
		ok(t, conn.Close(t.Context()))
	}
}

// isThere says whether a text can be had.
func isThere(t *testing.T, s *postgres.Store, text string) bool {
	t.Helper()
	_, err := s.Get(t.Context(), sessions.RefOf([]byte(text)))
	if err != nil && !errors.Is(err, sessions.ErrNoText) {
		t.Error(err)
	}
	return err == nil
}

// TestNoTextGoesThatMayBeNamed ends a turn while another is about to name texts.
func TestNoTextGoesThatMayBeNamed(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	end := func() {
		t.Helper()
		b, err := s.Begin(ctx, "s", "q")
		ok(t, err)
		_, err = s.Put(ctx, []byte("never named"))
		ok(t, err)
		ok(t, s.End(ctx, "s", b.Turn, answered))
	}
	release := naming(t, s)
	end()
	if !isThere(t, s, "never named") {
		t.Error("a text is gone that may be named")
	}
	release()
	end()
	if isThere(t, s, "never named") {
		t.Error("a text is there that nobody can name")
	}
}

// TestDeletedTextsAreGone deletes a session while a turn is about to name texts: its own
// are gone all the same when Delete returns.
func TestDeletedTextsAreGone(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	b, err := s.Begin(ctx, "s", "a secret question")
	ok(t, err)
	ok(t, s.End(ctx, "s", b.Turn, answered))
	release := naming(t, s)
	deleted := make(chan error, 1)
	go func() { deleted <- s.Delete(ctx, "s") }()
	const waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
	for err = nil; value(t, waiting) == int64(0) && len(deleted) == 0; {
		_, err = s.Session(ctx, "s")
	}
	ok(t, err)
	release()
	ok(t, <-deleted)
	if isThere(t, s, "a secret question") {
		t.Error("the question of the session that was deleted is there")
	}
}
