package topic

import "context"

// clientKey is the context key of a client's text for the agents of a turn.
type clientKey struct{}

// WithClient returns the context of a turn whose agents get a text of the client as a section of
// their system messages. It applies only to that turn.
func WithClient(ctx context.Context, text string) context.Context {
	return context.WithValue(ctx, clientKey{}, text)
}

// ClientOf returns the client's text for the agents of a turn, or "".
func ClientOf(ctx context.Context) string {
	text, _ := ctx.Value(clientKey{}).(string)
	return text
}
