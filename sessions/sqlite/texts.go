package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// fresh is a text that was put and that no event on disk may name yet. It goes to
// disk with the first event that does: in one transaction, so that the store
// never has a text that nothing names, and none that an event names can be deleted
// with another session in between.
type fresh struct {
	data []byte
	// puts is how often it was put and not named since; each is for a name to come.
	puts int
	last int64 // when it was last put
}

// Put keeps a text, under its content's hash, for the events that will name it.
// The caller may change data afterwards. What no event names is forgotten when
// the turns that were running are over.
func (s *Store) Put(ctx context.Context, data []byte) (kernel.Ref, error) {
	if err := ctx.Err(); err != nil {
		return kernel.Ref{}, err
	}
	ref := sessions.RefOf(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fresh[ref]
	if f == nil {
		f = &fresh{data: append([]byte{}, data...)} // not nil, also if it is empty
		s.fresh[ref] = f
	}
	f.puts++
	f.last = s.tick()
	return ref, nil
}

// tick returns a moment later than all before it. The caller holds the lock.
func (s *Store) tick() int64 {
	s.clock++
	return s.clock
}

// Get returns what Put stored; the caller must not change it.
func (s *Store) Get(ctx context.Context, ref kernel.Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if data := s.putBefore(ref); data != nil {
		return data, nil
	}
	var data []byte
	err := s.text.QueryRowContext(ctx, sumOf(ref)).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(data) != ref.Bytes {
		return nil, sessions.NoText(ref)
	}
	return data, fault(s.path, "read a text", err)
}

// putBefore returns a text that may not be on disk, or nil.
func (s *Store) putBefore(ref kernel.Ref) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.fresh[ref]; f != nil {
		return f.data
	}
	return nil
}

// named books that the texts are on disk, named as often as they stand in refs.
func (s *Store) named(refs []kernel.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		f := s.fresh[ref]
		if f == nil {
			continue
		}
		if f.puts--; f.puts <= 0 {
			delete(s.fresh, ref)
		}
	}
}

// sweep forgets the texts that no running turn can have put. The caller holds the
// lock.
func (s *Store) sweep() {
	first := int64(math.MaxInt64)
	for r := range maps.Values(s.running) {
		first = min(first, r.began)
	}
	maps.DeleteFunc(s.fresh, func(_ kernel.Ref, f *fresh) bool { return f.last < first })
}

// sumOf returns the hash as it is kept; nothing is kept under what is no hash.
func sumOf(ref kernel.Ref) []byte {
	sum, err := hex.DecodeString(ref.SHA256)
	if err != nil {
		return []byte{}
	}
	return sum
}

// distinct returns the references without repetition.
func distinct(refs []kernel.Ref) []kernel.Ref {
	seen := map[kernel.Ref]bool{}
	return slices.DeleteFunc(slices.Clone(refs), func(ref kernel.Ref) bool {
		again := seen[ref]
		seen[ref] = true
		return again
	})
}

// storedRef is a reference as queries return it: NULL is the zero reference.
type storedRef struct {
	sum   []byte
	bytes sql.NullInt64
}

func (r storedRef) ref() kernel.Ref {
	if r.sum == nil {
		return kernel.Ref{}
	}
	return kernel.Ref{SHA256: hex.EncodeToString(r.sum), Bytes: int(r.bytes.Int64)}
}
