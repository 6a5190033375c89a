package coordinator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// growing counts the bytes that a store gets.
type growing struct {
	*sessions.Store
	mu      sync.Mutex
	known   map[blob.Ref]bool
	texts   int
	journal int
}

func (g *growing) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	ref, err := g.Store.Put(ctx, data)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.known[ref] {
		g.known[ref] = true
		g.texts += len(data)
	}
	return ref, err
}

func (g *growing) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	g.mu.Lock()
	for _, event := range events {
		g.journal += len(event)
	}
	g.mu.Unlock()
	return g.Store.Append(ctx, id, turn, events...)
}

func (g *growing) EndWith(ctx context.Context, id string, turn int, e sessions.Ended, events ...[]byte) error {
	g.mu.Lock()
	for _, event := range events {
		g.journal += len(event)
	}
	g.mu.Unlock()
	return g.Store.EndWith(ctx, id, turn, e, events...)
}

// TestWhatIsStoredDoesNotGrowWithTheSession although each input has the whole history:
// turn 30 stores as much as turn 3, but for digits.
func TestWhatIsStoredDoesNotGrowWithTheSession(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct {
		agents int
		script string
	}{"a panel": {3, agree}, "an agent alone, with tools": {1, measures}} {
		synctest.Test(t, func(t *testing.T) {
			store := &growing{known: map[blob.Ref]bool{}}
			p, memory := panelOf(t, run.agents, run.script, nil, func(o *Options) {
				withGauge(debugbackend.NewRecorder(debugbackend.Options{}), agents.Context{})(o)
				store.Store = o.Store.(*sessions.Store)
				o.Store = store
			})
			sizes := map[int]int{}
			for number := 1; number <= 30; number++ {
				before := store.texts + store.journal
				wait(t, start(t, p, fmt.Sprintf("question %03d", number)))
				sizes[number] = store.texts + store.journal - before
			}
			t.Logf("%s: bytes that turns 1, 3 and 30 store: %d, %d, %d", name, sizes[1], sizes[3], sizes[30])
			if most := sizes[3] + 200; sizes[30] > most {
				t.Errorf("%s: turn 30 stores %d bytes, more than the %d of turn 3", name, sizes[30], sizes[3])
			}
			isRecorded(t, memory, 30)
		})
	}
}
