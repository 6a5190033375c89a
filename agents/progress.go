package agents

import "context"

// Progress is how far a tool's call is.
type Progress struct {
	// Fraction is how much of the call is done, from 0 to 1; 0 if that is not known.
	Fraction float64
	// Text says it in the tool's own words. It may be empty.
	Text string
}

type progressKey struct{}

// WithProgress returns a context in which the progress of a tool's call is told to tell,
// which may be called concurrently, and also when the call is over.
func WithProgress(ctx context.Context, tell func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// ProgressOf returns what a tool tells its progress to: it may call it as often as it
// likes, and concurrently. Outside of a call that somebody watches, nobody listens.
func ProgressOf(ctx context.Context) func(Progress) {
	if tell, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		return tell
	}
	return func(Progress) {}
}
