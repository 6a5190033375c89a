package engine

import (
	"context"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// patient is a store whose operations are repeated while it is away, until over ends: a call's
// result is paid for, and only this worker has it.
type patient struct {
	Store
	over context.Context
}

// Put implements agents.Blobs.
func (s patient) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	return again(ctx, s.over, func(ctx context.Context) (blob.Ref, error) { return s.Store.Put(ctx, data) })
}

// Get implements agents.Blobs.
func (s patient) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	return again(ctx, s.over, func(ctx context.Context) ([]byte, error) { return s.Store.Get(ctx, ref) })
}

// KeepResult implements Store.
func (s patient) KeepResult(ctx context.Context, session string, turn int, key string, result []byte) ([]byte, error) {
	return again(ctx, s.over, func(ctx context.Context) ([]byte, error) { return s.Store.KeepResult(ctx, session, turn, key, result) })
}

// again repeats an operation of a store until the store is not away, or one of the contexts
// ends.
func again[T any](ctx, over context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(over, cancel)()
	return sessions.Again(ctx, storePatience, func() (T, error) { return do(ctx) })
}
