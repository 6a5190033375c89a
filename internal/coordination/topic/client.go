package topic

import "context"

// clientKey is the key of what a client says to the agents of a turn.
type clientKey struct{}

// WithClient returns the context of a turn whose agents are told what its client says to them, in
// a section of their system messages. It holds for that turn alone.
func WithClient(ctx context.Context, text string) context.Context {
	return context.WithValue(ctx, clientKey{}, text)
}

// ClientOf returns what the client of a turn says to its agents, "" for nothing.
func ClientOf(ctx context.Context) string {
	text, _ := ctx.Value(clientKey{}).(string)
	return text
}
