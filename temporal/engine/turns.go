package engine

import (
	"context"
	"sync"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator"
)

// turns are the turns that this worker works on, by the owners of their sessions. Each has one store
// and one coordinator.Worker, so that its effects share what they read. The zero value is empty. It
// is safe for concurrent use.
type turns struct {
	mu      sync.Mutex
	recent  *recentTexts
	byOwner map[string]*turnAtWork
}

// turnAtWork is a turn that this worker works on.
type turnAtWork struct {
	store  *turnStore
	worker *coordinator.Worker
	// texts has the texts of its effects' messages.
	texts *agents.Cache
	// users counts the activities that use it, and the last one ended at the time left.
	users int
	left  time.Time
}

// idleTurn is how long an unused turn stays in memory. After that, the next activity of another turn removes it.
const idleTurn = time.Minute

// turn returns the turn of an owner. The caller calls leave when it does not use the turn any more.
func (h *activities) turn(owner string) (t *turnAtWork, leave func()) {
	return h.turns.enter(owner, func(recent *recentTexts) *turnAtWork {
		store := newTurnStore(h.as(owner), h.texts, h.inFlight.over(), recent)
		return &turnAtWork{store: store, worker: h.panel.Worker(store), texts: agents.NewCache(store)}
	})
}

func (all *turns) enter(owner string, begin func(*recentTexts) *turnAtWork) (t *turnAtWork, leave func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byOwner == nil {
		all.byOwner, all.recent = map[string]*turnAtWork{}, newRecentTexts()
	}
	for name, other := range all.byOwner {
		if name != owner && other.users == 0 && time.Since(other.left) > idleTurn {
			delete(all.byOwner, name)
		}
	}
	t = all.byOwner[owner]
	if t == nil {
		t = begin(all.recent)
		all.byOwner[owner] = t
	}
	t.users++
	return t, func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		t.users--
		t.left = time.Now()
	}
}

// atTurn runs an activity that works on a turn.
func atTurn[T any](ctx context.Context, h *activities, owner string, run func(context.Context, *turnAtWork) (T, error)) (T, error) {
	ctx, stop := atWork(ctx)
	defer stop()
	t, leave := h.turn(owner)
	defer leave()
	return run(ctx, t)
}
