package agents

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// historyReader returns at least the last turns, if there are so many, of the history of a
// turn, oldest turn first. Its callers share the result, and do not change it.
type historyReader func(ctx context.Context, blobs Blobs, turn *effect.Turn, last int) ([]contextbuild.Exchange, error)

// allTurns is more turns than a history has.
const allTurns = math.MaxInt

// readHistory is the historyReader that reads exactly those turns from the store.
func readHistory(ctx context.Context, blobs Blobs, turn *effect.Turn, last int) ([]contextbuild.Exchange, error) {
	return readNoting(ctx, blobs, turn, last, recordNothing)
}

// readNoting is readHistory, and records the repairs.
func readNoting(ctx context.Context, blobs Blobs, turn *effect.Turn, last int, note func(string)) ([]contextbuild.Exchange, error) {
	var history []contextbuild.Exchange
	if last == 0 {
		return history, nil
	}
	for exchange, err := range exchanges(ctx, blobs, turn, note) {
		if err != nil {
			return nil, err
		}
		history = append(history, exchange)
		if len(history) == last {
			break
		}
	}
	slices.Reverse(history)
	return history, nil
}

func recordNothing(string) {}

// exchanges yields the turns of the history of a turn, newest first, reads each on demand, and
// records the repairs in them. A panel of one gets the messages between a question and its
// answer too, a larger panel only these two. An error ends it.
func exchanges(ctx context.Context, blobs Blobs, turn *effect.Turn, note func(string)) iter.Seq2[contextbuild.Exchange, error] {
	return func(yield func(contextbuild.Exchange, error) bool) {
		for past, err := range sessions.History(ctx, blobs, turn.History, nil) {
			var exchange contextbuild.Exchange
			if err == nil {
				exchange, err = exchangeOf(ctx, blobs, turn, past, note)
			}
			if !yield(exchange, err) || err != nil {
				return
			}
		}
	}
}

// exchangeOf returns one turn of the history of a turn.
func exchangeOf(ctx context.Context, blobs Blobs, turn *effect.Turn, past sessions.Turn, note func(string)) (exchange contextbuild.Exchange, err error) {
	exchange = contextbuild.Exchange{Turn: past.Number, Question: past.Question, Answer: past.Answer}
	if len(turn.Agents) == 1 && past.Messages != (blob.Ref{}) {
		err = addMessages(ctx, blobs, past.Messages, &exchange, note)
	}
	return exchange, err
}

func readSummary(ctx context.Context, blobs Blobs, s effect.Summary) (contextbuild.Exchange, error) {
	text, err := blobs.Get(ctx, s.Text)
	if err != nil {
		return contextbuild.Exchange{}, fmt.Errorf("history: the summary of turns %d to %d: %w", s.First, s.Last, err)
	}
	return contextbuild.Exchange{FirstTurn: s.First, LastTurn: s.Last, Answer: string(text)}, nil
}

// lastHistory is a historyReader that keeps the last history that it read. So the calls of a
// turn, which share one history, read it once, and once more if an agent gets more of it than
// those before. The zero value is ready.
type lastHistory struct {
	mu   sync.Mutex
	head blob.Ref
	last int
	readTurns
}

// readTurns are the turns of a history, oldest first, as they were read.
type readTurns struct {
	turns []contextbuild.Exchange
	// repairs are the repairs in them, newest turn first.
	repairs []string
}

// read holds the lock while it reads: calls that begin together wait for one reading.
func (l *lastHistory) read(ctx context.Context, blobs Blobs, turn *effect.Turn, last int) ([]contextbuild.Exchange, error) {
	return l.readWith(ctx, nil, blobs, turn, last)
}

// readWith is read, with the histories of earlier turns.
func (l *lastHistory) readWith(ctx context.Context, before *Histories, blobs Blobs, turn *effect.Turn, last int) ([]contextbuild.Exchange, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head == turn.History && l.last >= last {
		return l.turns, nil
	}
	read, err := before.read(ctx, blobs, turn, last)
	if err == nil {
		l.head, l.last, l.readTurns = turn.History, last, read
	}
	return read.turns, err
}

// Repairs returns the repairs in the history that the doer's calls have read, a line for people
// for each repaired turn, oldest first.
func (d *Doer) Repairs() []string {
	d.history.mu.Lock()
	defer d.history.mu.Unlock()
	lines := slices.Clone(d.history.repairs)
	slices.Reverse(lines)
	return lines
}
