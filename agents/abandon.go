package agents

import (
	"context"
	"fmt"
	"time"
)

// AbandonAfter is how long an effect may ignore its cancellation.
const AbandonAfter = 2 * time.Second

// abandonedText returns the text for an abandoned effect.
func abandonedText() string {
	return fmt.Sprintf("the call ignored its cancellation for %s and was abandoned", AbandonAfter)
}

// ending says when something ended after its context did.
type ending int

const (
	inTime    ending = iota // before the context ended
	late                    // after the context, within AbandonAfter
	abandoned               // not within AbandonAfter
)

// await returns the value that comes on done. After ctx has ended it waits for AbandonAfter,
// and returns the zero value if nothing has come by then.
func await[T any](ctx context.Context, done <-chan T) (result T, end ending) {
	select {
	case result = <-done:
		return result, inTime
	case <-ctx.Done():
	}
	patience := time.NewTimer(AbandonAfter)
	defer patience.Stop()
	select {
	case result = <-done:
		return result, late
	case <-patience.C:
		return result, abandoned
	}
}
