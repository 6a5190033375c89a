// Package turnmeta carries the metadata that a turn sets in its session when it begins.
package turnmeta

import "context"

type key struct{ session string }

// With returns a context for a turn of a session that begins. The Append of the turn's first events sets the
// metadata too, as sessions.Store.SetMetadata does, in the same transaction.
func With(ctx context.Context, session string, metadata map[string]string) context.Context {
	return context.WithValue(ctx, key{session}, metadata)
}

// Of returns the metadata that a context carries for a session, nil for none.
func Of(ctx context.Context, session string) map[string]string {
	metadata, _ := ctx.Value(key{session}).(map[string]string)
	return metadata
}
