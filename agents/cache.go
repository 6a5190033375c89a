package agents

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Cache is a store that keeps in memory the texts that were read last, as they are or decoded. The calls of a
// turn, and the turns of a session, read the same ones. It is safe for concurrent use.
type Cache struct {
	Blobs
	read memo[textForm]
	// parts has the references of the parts of histories.
	parts memo[partKey]
}

// NewCache returns a cache over a store. A store that is a Cache needs no other.
func NewCache(blobs Blobs) *Cache {
	if c, ok := blobs.(*Cache); ok {
		return c
	}
	return &Cache{Blobs: blobs}
}

// Get reads a text, which the caller must not change.
func (c *Cache) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	return readAs(ctx, c, ref, func(data []byte) ([]byte, error) { return data, nil })
}

// textForm identifies a text with the type that it is read as.
type textForm struct {
	ref  blob.Ref
	form reflect.Type
}

// storeFault is the error of a store that failed. A missing text is no such error.
type storeFault struct{ error }

func (f storeFault) Unwrap() error { return f.error }

// readAs reads a text as a T, which the caller must not change.
func readAs[T any](ctx context.Context, c *Cache, ref blob.Ref, decode func([]byte) (T, error)) (T, error) {
	return remember(&c.read, textForm{ref, reflect.TypeFor[T]()}, ref.Bytes, func() (none T, err error) {
		data, err := c.Blobs.Get(ctx, ref)
		switch {
		case err == nil:
			return decode(data)
		case !errors.Is(err, sessions.ErrNoText):
			err = storeFault{err}
		}
		return none, err
	})
}

// ReadJSON reads a text as the JSON of a T, which all readers share: nobody may change it.
func ReadJSON[T any](ctx context.Context, c *Cache, ref blob.Ref) (T, error) {
	return readAs(ctx, c, ref, decodeJSON[T](ref))
}

// memo keeps values by what they are made from. Once they have more than mostRemembered bytes, it forgets
// those that were not used lately. The zero value is ready. It is safe for concurrent use.
type memo[K comparable] struct {
	mu sync.Mutex
	// young has the values that were used since old was replaced. Their size is bytes.
	young, old map[K]*remembered
	bytes      int
}

const (
	mostRemembered = 16 << 20
	// entrySize is about the size of an entry without its value.
	entrySize = 200
)

// remembered is a value of a memo, or the place for one that is not made yet. Whoever uses it puts an element into
// inUse meanwhile.
type remembered struct {
	inUse  chan struct{}
	value  any
	isMade bool
}

// remember returns the value of a key, about size bytes. It calls create if there is no value, and while it
// does, other calls for that key wait. The next call creates the value if this one fails or panics.
func remember[K comparable, T any](m *memo[K], key K, size int, create func() (T, error)) (T, error) {
	r := m.place(key, size)
	r.inUse <- struct{}{}
	defer func() { <-r.inUse }()
	if r.isMade {
		return r.value.(T), nil
	}
	value, err := create()
	if err == nil {
		r.value, r.isMade = value, true
	}
	return value, err
}

func (m *memo[K]) place(key K, size int) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.young[key]; ok {
		return r
	}
	r, ok := m.old[key]
	if !ok {
		r = &remembered{inUse: make(chan struct{}, 1)}
	}
	if m.young == nil || m.bytes > mostRemembered/2 {
		m.young, m.old, m.bytes = map[K]*remembered{}, m.young, 0
	}
	m.young[key] = r
	m.bytes += size + entrySize
	return r
}
