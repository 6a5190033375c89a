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
					err := heavy.Pictures.Do(t.Context(), memory, func() error {
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
	err := heavy.Pictures.Do(t.Context(), heavy.MostMemory, func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return heavy.Pictures.Do(ctx, 1, func() error {
			t.Error("the work ran without room")
			return nil
		})
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestKindsOfWorkHaveTheirOwnRoom lets a body and a check run while a picture has all of its room.
func TestKindsOfWorkHaveTheirOwnRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		err := heavy.Pictures.Do(t.Context(), heavy.MostMemory, func() error {
			for _, room := range []*heavy.Room{heavy.Bodies, heavy.Checks} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := room.Do(ctx, 1<<20, func() error { ran++; return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || ran != 2 {
			t.Errorf("%d of 2 ran, %v", ran, err)
		}
	})
}

func TestShapeCountsWhatIsNoText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		`"[{,:"`:                          {0, 0},
		`[{},{}]`:                         {4, 2},
		`{"a":[1,2,"\"[,"]}`:              {5, 2},
		`[[[]]] [[]]`:                     {5, 3},
		`{"a\\":{"b":1},"c":2}`:           {6, 2},
		`{"a\\\"{[,":[1,{"b":"\\"},"]"]}`: {7, 3},
	} {
		var s heavy.Shape
		for i := range text { // a byte at a time
			s.Add([]byte(text[i : i+1]))
		}
		if whole := heavy.ShapeOf([]byte(text)); s != whole || s.Values != want[0] || s.Deepest != want[1] {
			t.Errorf("%s: %+v, as a whole %+v, want %v", text, s, whole, want)
		}
	}
}
