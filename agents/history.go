package agents

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// historyReader returns the history whose newest link is head, oldest turn first.
// Its callers share what it returns, and do not change it.
type historyReader func(ctx context.Context, blobs Blobs, head kernel.Ref) ([]contextbuild.Exchange, error)

// readHistory is the historyReader that reads all of it from the store.
func readHistory(ctx context.Context, blobs Blobs, head kernel.Ref) ([]contextbuild.Exchange, error) {
	var history []contextbuild.Exchange
	for link, err := range sessions.Chain(ctx, blobs, head) {
		if err != nil {
			return nil, err
		}
		question, err := blobs.Get(ctx, link.Question)
		if err != nil {
			return nil, fmt.Errorf("history: the question of turn %d: %w", link.Turn, err)
		}
		answer, err := blobs.Get(ctx, link.Answer)
		if err != nil {
			return nil, fmt.Errorf("history: the answer of turn %d: %w", link.Turn, err)
		}
		history = append(history, contextbuild.Exchange{Question: string(question), Answer: string(answer)})
	}
	slices.Reverse(history)
	return history, nil
}

// lastHistory is a historyReader that keeps the history that it read last, so
// that the calls of a turn, which all have the same, read it once. The zero value
// is ready.
type lastHistory struct {
	mu      sync.Mutex
	head    kernel.Ref
	history []contextbuild.Exchange
}

// read holds the lock while it reads: calls that begin together wait for the one
// reading.
func (l *lastHistory) read(ctx context.Context, blobs Blobs, head kernel.Ref) ([]contextbuild.Exchange, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != head {
		history, err := readHistory(ctx, blobs, head)
		if err != nil {
			return nil, err
		}
		l.head, l.history = head, history
	}
	return l.history, nil
}
