package agents

import "context"

// Progress is the progress of a tool call.
type Progress struct {
	// Fraction is the finished part of the call, from 0 to 1; 0 if unknown.
	Fraction float64
	// Text is the progress in the tool's own words. It may be empty.
	Text string
}

type progressKey struct{}

// WithProgress returns a context that passes the progress of a tool call to tell. tell may be
// called concurrently, and after the call is over.
func WithProgress(ctx context.Context, tell func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// ProgressOf returns the function to which a tool reports its progress. A tool may call it at
// any time, and concurrently. Outside of a watched call it does nothing.
func ProgressOf(ctx context.Context) func(Progress) {
	if tell, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		return tell
	}
	return func(Progress) {}
}
