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
	blobs Blobs
	err   error
}

// get reads a text, nil for a zero reference.
func (s *textStore) get(ref blob.Ref) (data []byte) {
	if s.err != nil || ref == (blob.Ref{}) {
		return nil
	}
	data, s.err = s.blobs.Get(s.ctx, ref)
	if s.err != nil && !errors.Is(s.err, sessions.ErrNoText) {
		s.err = storeFault{s.err}
	}
	return data
}

// storeFault is the error of a store that failed. A missing text is no such error.
type storeFault struct{ error }

func (f storeFault) Unwrap() error { return f.error }

// decode reads a text as JSON into v; a zero reference leaves v unchanged.
func (s *textStore) decode(ref blob.Ref, v any) {
	data := s.get(ref)
	if s.err != nil || ref == (blob.Ref{}) {
		return
	}
	var err error
	if m, ok := v.(*backends.Message); ok {
		err = m.UnmarshalJSON(data) // which does the same with fewer copies
	} else {
		err = plain.Unmarshal(data, v)
	}
	if err != nil {
		s.err = fmt.Errorf("blob %.12s: %w", ref.SHA256, err)
	}
}

// decoded reads a text as JSON; a zero reference is the zero value.
func decoded[T any](s *textStore, ref blob.Ref) (none T) {
	if ref == (blob.Ref{}) {
		return none
	}
	v := new(T)
	s.decode(ref, v)
	return *v
}

func (s *textStore) put(data []byte) (ref blob.Ref) {
	if s.err == nil {
		ref, s.err = s.blobs.Put(s.ctx, data)
	}
	return ref
}

// encode stores v as JSON.
func (s *textStore) encode(v any) blob.Ref { return s.put(s.marshal(v)) }

// marshal escapes nothing for HTML: what only a model can read goes back to it as it came.
func (s *textStore) marshal(v any) []byte {
	data, err := plain.JSON(v)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("encode %T: %w", v, err)
	}
	return data
}

// encodeMessage stores a message as JSON.
func (s *textStore) encodeMessage(m backends.Message) blob.Ref { return s.put(s.marshalMessage(m)) }

// marshalMessage returns what marshal does, which would check and copy the bytes.
func (s *textStore) marshalMessage(m backends.Message) []byte {
	data, err := m.MarshalJSON()
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("encode a message: %w", err)
	}
	return data
}

// encodeParams stores what paramsJSON returns.
func (s *textStore) encodeParams(p backends.Params) blob.Ref { return s.put([]byte(s.paramsJSON(p))) }

// paramsJSON encodes parameters without their headers and extra body, which belong to Member.
func (s *textStore) paramsJSON(p backends.Params) string {
	p.Headers, p.ExtraBody = nil, nil
	if p.AreDefault() {
		return "{}"
	}
	return string(s.marshal(p))
}

// has reports whether the store has a text. After an error it returns true, so that its caller
// looks no further.
func (s *textStore) has(ref blob.Ref) bool {
	if s.err != nil {
		return true
	}
	_, err := s.blobs.Get(s.ctx, ref)
	if err != nil && !errors.Is(err, sessions.ErrNoText) {
		s.err = err
	}
	return !errors.Is(err, sessions.ErrNoText)
}

// PutJSON stores v as JSON.
func PutJSON(ctx context.Context, blobs Blobs, v any) (blob.Ref, error) {
	s := textStore{ctx: ctx, blobs: blobs}
	ref := s.encode(v)
	return ref, s.err
}
