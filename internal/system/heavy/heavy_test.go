package heavy_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/internal/system/heavy"
)

func TestHeavyWorkSharesOneLimit(t *testing.T) {
	for memory, most := range map[int64]int32{0: 4, heavy.MostMemory / 2: 2, heavy.MostMemory: 1, 9 * heavy.MostMemory: 1} {
		synctest.Test(t, func(t *testing.T) {
			var now, peak atomic.Int32
			var all sync.WaitGroup
			for range 12 {
				all.Go(func() {
					err := heavy.Do(t.Context(), memory, func() error {
						peak.Store(max(peak.Load(), now.Add(1)))
						time.Sleep(time.Second) // of the bubble's clock
						now.Add(-1)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if peak.Load() != most {
				t.Errorf("%d pieces of work of %d bytes ran at once, want %d", peak.Load(), memory, most)
			}
		})
	}
}

func TestWaitForRoomEndsWithItsContext(t *testing.T) {
	err := heavy.Do(t.Context(), heavy.MostMemory, func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return heavy.Do(ctx, 1, func() error {
			t.Error("the work ran without room")
			return nil
		})
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
