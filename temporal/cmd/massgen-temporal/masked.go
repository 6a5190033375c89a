package main

import (
	"context"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

// masked keeps no secret: what a model was told of one is masked before it is stored. What
// is sent is built from what is stored.
type masked struct {
	*postgres.Store
	redact func(string) string
}

func (s *masked) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	return s.Store.Put(ctx, []byte(s.redact(string(data))))
}

func (s *masked) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	return s.Store.Begin(ctx, id, s.redact(question))
}

func (s *masked) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	return s.Store.Append(ctx, id, turn, s.redacted(events)...)
}

func (s *masked) AppendAt(ctx context.Context, id string, turn, place int, events ...[]byte) error {
	return s.Store.AppendAt(ctx, id, turn, place, s.redacted(events)...)
}

func (s *masked) KeepResult(ctx context.Context, id string, turn int, key string, result []byte) ([]byte, error) {
	return s.Store.KeepResult(ctx, id, turn, key, []byte(s.redact(string(result))))
}

func (s *masked) redacted(events [][]byte) [][]byte {
	masked := make([][]byte, len(events))
	for i, event := range events {
		masked[i] = []byte(s.redact(string(event)))
	}
	return masked
}

func (s *masked) End(ctx context.Context, id string, turn int, ended sessions.Ended) error {
	ended.Answer = s.redact(ended.Answer)
	return s.Store.End(ctx, id, turn, ended)
}

func (s *masked) Commit(ctx context.Context, id string, turn int, ended sessions.Ended) error {
	ended.Answer = s.redact(ended.Answer)
	return s.Store.Commit(ctx, id, turn, ended)
}

func (s *masked) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	hidden := make(map[string]string, len(metadata))
	for key, value := range metadata {
		hidden[key] = s.redact(value)
	}
	return s.Store.SetMetadata(ctx, id, hidden)
}
