package server

import (
	"context"
	"testing"
)

// TestTurnEndsWithItsClientUntilItIsAccepted, and not after that.
func TestTurnEndsWithItsClientUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	client, leave := context.WithCancel(t.Context())
	with, accepted := untilAccepted(context.WithoutCancel(client), client)
	leave()
	<-with.Done()
	accepted()

	client, leave = context.WithCancel(t.Context())
	with, accepted = untilAccepted(context.WithoutCancel(client), client)
	accepted()
	leave()
	if with.Err() != nil {
		t.Error("the turn has ended with a client that left after it was accepted")
	}
}
