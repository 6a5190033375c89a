package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

// clockWasAhead has the leases of a table's rows end as if they were prolonged while the server's
// clock was a year ahead.
func clockWasAhead(t *testing.T, s *postgres.Store, table, which string) {
	t.Helper()
	execute(t, "UPDATE "+schemaOf(t, s)+"."+table+" SET until = clock_timestamp() + interval '1 year' WHERE "+which)
}

// TestSessionOfTheDeadWhenTheClockWasAhead is free after one lease: for a turn, and to delete it.
func TestSessionOfTheDeadWhenTheClockWasAhead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	other := open(t, t.TempDir())
	dead := another(t, schemaOf(t, other), time.Millisecond)
	postgres.Part(dead)
	b, err := dead.Begin(ctx, "s", "q")
	ok(t, err)
	ok(t, dead.Append(ctx, "s", b.Turn, []byte("one")))
	clockWasAhead(t, other, "holds", "true")
	if left, err := other.Interrupted(ctx, "s"); err != nil || len(left) != 1 {
		t.Errorf("interrupted: %v, %v", left, err)
	}
	_, err = other.Resume(ctx, "s")
	ok(t, err)
	ok(t, other.Leave(ctx, "s", b.Turn))
	_, err = dead.Resume(ctx, "s")
	ok(t, err)
	clockWasAhead(t, other, "holds", "true")
	ok(t, other.Delete(ctx, "s"))
}

// TestSessionOfTheLivingWhenTheClockWasAhead is kept: the owner's next write or beat ends its lease
// where it should end.
func TestSessionOfTheLivingWhenTheClockWasAhead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	other := open(t, t.TempDir())
	isKept := func(owner *postgres.Store, id string) {
		t.Helper()
		const isTooLate = "SELECT until > clock_timestamp() + interval '%d hours' FROM %s.holds WHERE name = $1"
		if value(t, fmt.Sprintf(isTooLate, longLease/time.Hour, schemaOf(t, other)), id) == true {
			t.Fatalf("session %s is held for longer than a lease", id)
		}
		if _, err := other.Begin(ctx, id, "q"); !errors.Is(err, sessions.ErrBusy) {
			t.Errorf("session %s: %v", id, err)
		}
		ok(t, owner.Append(ctx, id, 1, []byte("event")))
	}
	silent := another(t, schemaOf(t, other), longLease)
	postgres.Part(silent)
	_, err := silent.Begin(ctx, "writes", "q")
	ok(t, err)
	clockWasAhead(t, other, "holds", "true")
	ok(t, silent.Append(ctx, "writes", 1, []byte("event")))
	isKept(silent, "writes")

	beats := beating(t, schemaOf(t, other))
	_, err = beats.Begin(ctx, "beats", "q")
	ok(t, err)
	clockWasAhead(t, other, "holds", "name = 'beats'")
	if _, err := other.Begin(ctx, "beats", "q"); !errors.Is(err, sessions.ErrBusy) { // it waits for a beat
		t.Errorf("the session of an owner who beats: %v", err)
	}
	isKept(beats, "beats")
}

// TestAttemptsOfAClockThatWasAhead: neither the place of one whose worker died, nor one that is
// to be the next and never comes, is in the way of others for as long as the clock was ahead.
func TestAttemptsOfAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	living := open(t, t.TempDir())
	dead := another(t, schemaOf(t, living), time.Millisecond)
	postgres.Part(dead)
	of := func(s *postgres.Store) retry.Limiter {
		return postgres.Patient(s.Limiter("account", retry.Limits{Concurrent: 1}))
	}
	may(t, of(dead), 1)
	clockWasAhead(t, living, "attempts", "true")
	may(t, of(living), 1).Settle(nil)
	execute(t, "UPDATE "+schemaOf(t, living)+".accounts SET next = 'lost', next_until = clock_timestamp() + interval '1 year'")
	may(t, of(living), 1).Settle(nil)
}
