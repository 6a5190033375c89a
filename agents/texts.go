package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// Blobs stores texts under their content's hash. It is safe for concurrent use.
type Blobs interface {
	Put(ctx context.Context, data []byte) (blob.Ref, error)
	Get(ctx context.Context, ref blob.Ref) ([]byte, error)
}

// textStore reads and stores texts until one fails; err is the first error.
type textStore struct {
	ctx   context.Context
	cache *Cache
	err   error
}

func newTextStore(ctx context.Context, blobs Blobs) textStore {
	return textStore{ctx: ctx, cache: NewCache(blobs)}
}

// get reads a text, nil for a zero reference.
func (s *textStore) get(ref blob.Ref) []byte {
	return readWith(s, ref, func(data []byte) ([]byte, error) { return data, nil })
}

// text reads a text, empty for a zero reference.
func (s *textStore) text(ref blob.Ref) string {
	return readWith(s, ref, func(data []byte) (string, error) { return string(data), nil })
}

// decoded reads a text as JSON; a zero reference is the zero value. The caller must not change the value.
func decoded[T any](s *textStore, ref blob.Ref) T {
	return readWith(s, ref, decodeJSON[T](ref))
}

// decodeJSON returns the function that reads a text as JSON.
func decodeJSON[T any](ref blob.Ref) func([]byte) (T, error) {
	return func(data []byte) (T, error) {
		v := new(T)
		if err := plain.Unmarshal(data, v); err != nil {
			return *v, fmt.Errorf("blob %.12s: %w", ref.SHA256, err)
		}
		return *v, nil
	}
}

func readWith[T any](s *textStore, ref blob.Ref, decode func([]byte) (T, error)) (value T) {
	if s.err != nil || ref == (blob.Ref{}) {
		return value
	}
	value, s.err = readAs(s.ctx, s.cache, ref, decode)
	return value
}

func (s *textStore) put(data []byte) (ref blob.Ref) {
	if s.err == nil {
		ref, s.err = s.cache.Put(s.ctx, data)
	}
	return ref
}

// encode stores v as JSON.
func (s *textStore) encode(v any) blob.Ref { return s.put(s.marshal(v)) }

// marshal encodes v without the escapes of HTML: models get back what they wrote, byte for byte.
func (s *textStore) marshal(v any) []byte {
	data, err := plain.JSON(v)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("encode %T: %w", v, err)
	}
	return data
}

// encodeParams stores parameters without their headers and extra body, which belong to Member.
func (s *textStore) encodeParams(p backends.Params) blob.Ref {
	p.Headers, p.ExtraBody = nil, nil
	return s.encode(p)
}

// has reports whether the store itself has a text. After an error it returns true, so that its caller
// looks no further.
func (s *textStore) has(ref blob.Ref) bool {
	if s.err != nil {
		return true
	}
	_, err := s.cache.Blobs.Get(s.ctx, ref)
	if err != nil && !errors.Is(err, sessions.ErrNoText) {
		s.err = err
	}
	return !errors.Is(err, sessions.ErrNoText)
}

// PutJSON stores v as JSON.
func PutJSON(ctx context.Context, blobs Blobs, v any) (blob.Ref, error) {
	s := newTextStore(ctx, blobs)
	ref := s.encode(v)
	return ref, s.err
}
