package coordinator

import (
	"context"
	"errors"
	"sync"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// errLost is what a store says to a process that was killed, errFull what it says while
// its disk is full.
var (
	errLost = errors.New("the process was killed")
	errFull = errors.New("no space left on device")
)

// faulty is a disk that outlives processes, and may be full.
type faulty struct {
	*sessions.Store
	mu sync.Mutex
	// writes counts them. The process is killed at number killAt, before it is done or
	// after; from fullAt on the disk is full, for so many writes as full says.
	writes, killAt, fullAt, full int
	after                        bool
	dead                         bool
	// done has the keys of the effects whose results are in the journal.
	done map[effect.Key]bool
}

// write does one write, or does not.
func (f *faulty) write(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errLost
	}
	f.writes++
	if f.fullAt > 0 && f.writes >= f.fullAt && f.writes < f.fullAt+f.full {
		return errFull
	}
	if f.writes != f.killAt {
		return do()
	}
	f.dead = true
	if f.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errLost
}

// restart is another process on the same disk, which lives for so many writes; 0: for good.
func (f *faulty) restart(ctx context.Context, writes int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead, f.after, f.killAt, f.fullAt = false, after, 0, 0
	if writes > 0 {
		f.killAt = f.writes + writes
	}
	// The lock of a process ends with it.
	for number := 1; number <= 2; number++ {
		if err := f.Leave(ctx, "s", number); err != nil {
			continue // that turn was not running
		}
	}
}

func (f *faulty) Append(ctx context.Context, session string, number int, events ...[]byte) error {
	return f.write(func() error {
		if err := f.Store.Append(ctx, session, number, events...); err != nil {
			return err
		}
		return f.note(events)
	})
}

func (f *faulty) EndWith(ctx context.Context, session string, number int, e sessions.Ended, events ...[]byte) error {
	return f.write(func() error {
		if err := f.Store.EndWith(ctx, session, number, e, events...); err != nil {
			return err
		}
		return f.note(events)
	})
}

// note notes which effects have a result in the journal.
func (f *faulty) note(events [][]byte) error {
	list, err := decoded(events, 0)
	if err != nil {
		return err
	}
	for _, ev := range list {
		if key, ok := turn.KeyOf(ev); ok {
			f.done[key] = true
		}
	}
	return nil
}

func (f *faulty) End(ctx context.Context, session string, number int, e sessions.Ended) error {
	return f.write(func() error { return f.Store.End(ctx, session, number, e) })
}

func (f *faulty) Commit(ctx context.Context, session string, number int, e sessions.Ended) error {
	return f.write(func() error { return f.Store.Commit(ctx, session, number, e) })
}

func (f *faulty) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	return f.write(func() error { return f.Store.SetMetadata(ctx, id, metadata) })
}

func (f *faulty) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	if f.isDead() {
		return blob.Ref{}, errLost
	}
	return f.Store.Put(ctx, data)
}

func (f *faulty) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	if f.isDead() {
		return nil, errLost
	}
	return f.Store.Get(ctx, ref)
}

func (f *faulty) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// finished reports whether the result of an effect is in the journal.
func (f *faulty) finished(key effect.Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done[key]
}
