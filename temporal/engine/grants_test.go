package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/log"

	"github.com/massgen/massgen/backends"
)

// answering is a workflow that has an attempt wait until it has asked so many times again.
type answering struct {
	asks  int
	asked int
	heard []string
}

func (a *answering) Update(_ context.Context, _, _, _, name string, arg, answer any) error {
	a.heard = append(a.heard, name)
	if r, ok := arg.(reservation); ok && r.Asks {
		*answer.(*string) = waitWord
	}
	return nil
}

func (a *answering) Query(ctx context.Context, _, _, name string, _, answer any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if name != permittedQuery {
		return errors.New("another query")
	}
	if a.asked++; a.asked == a.asks {
		*answer.(*string) = ""
	}
	return nil
}

func grantsOf(a *answering) grants {
	return grants{workflows: a, lost: new(atomic.Bool), log: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
}

// An attempt that waits asks again, ever more seldom, until it may be sent.
func TestAttemptAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, began := &answering{asks: 100}, time.Now()
		held, err := grantsOf(a).Reserve(t.Context(), backends.Cost{Tokens: 10})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); a.asked != 100 || took < 90*time.Second || took > 100*time.Second {
			t.Errorf("asked %d times in %v", a.asked, took)
		}
		held.Settle(&backends.Usage{InputTokens: 5})
		if want := []string{reserveUpdate, settleUpdate}; !slices.Equal(a.heard, want) {
			t.Errorf("the workflow heard %v, not %v", a.heard, want)
		}
	})
}

// One that is cancelled while it waits gives back what it may have been granted meanwhile.
func TestAttemptThatWaitsIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answering{}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := grantsOf(a).Reserve(ctx, backends.Cost{Tokens: 10}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if want := []string{reserveUpdate, settleUpdate}; !slices.Equal(a.heard, want) || a.asked == 0 {
			t.Errorf("the workflow heard %v, not %v, and was asked %d times", a.heard, want, a.asked)
		}
	})
}
