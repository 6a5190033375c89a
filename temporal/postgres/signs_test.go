package postgres_test

import (
	"testing"
	"time"
)

// TestSignsOfLife are seen by others while they are shown, also after their connection was lost.
func TestSignsOfLife(t *testing.T) {
	ctx := t.Context()
	s, other := open(t, t.TempDir()), open(t, t.TempDir())
	isShown := func(name string) bool {
		t.Helper()
		is, err := other.Signs().IsShown(ctx, name)
		ok(t, err)
		return is
	}
	if isShown("worker") {
		t.Error("a sign is seen that nobody shows")
	}
	hide, err := s.Signs().Show(ctx, "worker")
	ok(t, err)
	if !isShown("worker") || isShown("another worker") {
		t.Error("a sign is not seen, or another one is")
	}
	conn := connect(t)
	const holders = "FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted AND pid <> pg_backend_pid()"
	var killed int
	ok(t, conn.QueryRow(ctx, "SELECT count(pg_terminate_backend(pid, 10000)) "+holders).Scan(&killed))
	if killed == 0 {
		t.Error("no connection holds the sign")
	}
	for !isShown("worker") {
		<-time.After(10 * time.Millisecond)
	}
	hide()
	for isShown("worker") { // the server hears a moment later
		<-time.After(10 * time.Millisecond)
	}
}
