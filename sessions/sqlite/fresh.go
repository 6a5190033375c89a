package sqlite

import (
	"context"
	"maps"
	"sync"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// texts are those that were put and that no event on disk may name yet. A text goes to disk
// with the first event that names it, in one transaction: so the store never has a text that
// nothing names, and none that an event names can be deleted with another session in between.
//
// A text that an event has named since stays at hand until a turn ends, up to mostNamed: each agent of
// a panel reads the same answers. Its turn holds its session until then, so nothing deletes the text.
type texts struct {
	mu         sync.Mutex
	fresh      map[blob.Ref]*fresh
	named      map[blob.Ref][]byte
	namedBytes int
	clock      int64 // counts what Begin and Put have done
}

const mostNamed = 8 << 20

func newTexts() *texts {
	return &texts{fresh: map[blob.Ref]*fresh{}, named: map[blob.Ref][]byte{}}
}

type fresh struct {
	data []byte
	// puts is how often it was put and not named since; each is for a name to come.
	puts int
	last int64 // when it was last put
}

// Put implements sqlstore.Texts.
func (t *texts) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	if err := ctx.Err(); err != nil {
		return blob.Ref{}, err
	}
	ref := sessions.RefOf(data)
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.fresh[ref]
	if f == nil {
		f = &fresh{data: append([]byte{}, data...)} // not nil, also if it is empty
		t.fresh[ref] = f
	}
	f.puts++
	t.clock++
	f.last = t.clock
	return ref, nil
}

// AtHand implements sqlstore.Texts.
func (t *texts) AtHand(ref blob.Ref) (data []byte, isFresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.fresh[ref]; f != nil {
		return f.data, true
	}
	return t.named[ref], false
}

// Named implements sqlstore.Texts.
func (t *texts) Named(refs []blob.Ref, ends bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ref := range refs {
		f := t.fresh[ref]
		if f == nil {
			continue
		}
		if f.puts--; f.puts <= 0 {
			delete(t.fresh, ref)
			if !ends { // else nothing keeps the text from being deleted
				t.remember(ref, f.data)
			}
		}
	}
}

// remember keeps a text at hand that was named, if there is room.
func (t *texts) remember(ref blob.Ref, data []byte) {
	if t.named[ref] == nil && t.namedBytes+len(data) <= mostNamed {
		t.named[ref] = data
		t.namedBytes += len(data)
	}
}

// tick returns a moment later than all before it.
func (t *texts) tick() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock++
	return t.clock
}

// sweep forgets the texts that were put before a moment, and all that were named: a turn has ended, and
// its session may be deleted.
func (t *texts) sweep(first int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.fresh, func(_ blob.Ref, f *fresh) bool { return f.last < first })
	clear(t.named)
	t.namedBytes = 0
}
