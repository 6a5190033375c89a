package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/internal/system/sleep"
)

func TestForEndsWithItsTimeOrItsContext(t *testing.T) {
	for _, c := range []struct {
		d, deadline, want time.Duration
		err               error
	}{
		{time.Second, time.Minute, time.Second, nil},
		{time.Minute, time.Second, time.Second, context.DeadlineExceeded},
		{0, time.Second, 0, nil},
		{0, 0, 0, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
			defer cancel()
			began := time.Now()
			err := sleep.For(ctx, c.d)
			if took := time.Since(began); took != c.want || !errors.Is(err, c.err) {
				t.Errorf("%v with a deadline of %v: %v, %v", c.d, c.deadline, took, err)
			}
		})
	}
}
