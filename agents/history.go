package agents

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// history is the part of a turn's history in an input, oldest turn first. Calls share it, and do not change it.
type history struct {
	turns []contextbuild.Exchange
	// lines has the text of each turn for a panel of several agents.
	lines []string
}

// historyKey identifies the part of a turn's history that an agent is shown.
type historyKey struct {
	head blob.Ref
	// isPart reports whether shown selects a part. The range of its summary stands in covered, so that equal
	// selections give equal keys.
	isPart  bool
	shown   policy.Selection
	covered policy.Range
	summary blob.Ref
}

func historyKeyOf(turn *effect.Turn, agent int) historyKey {
	key := historyKey{head: turn.History}
	if shown := turn.Agent(agent).Shown; shown != nil {
		key.isPart, key.shown = true, *shown
		key.shown.Tokens = 0 // agents may count in different ways
		if shown.Summary != nil {
			key.shown.Summary, key.covered = nil, *shown.Summary
		}
		if turn.Summary != nil {
			key.summary = turn.Summary.Text
		}
	}
	return key
}

// historyOf returns the part of a turn's history that an agent is shown.
func (s *shared) historyOf(t *textStore, turn *effect.Turn, agent int) (h history) {
	if t.err != nil {
		return h
	}
	h, t.err = remember(&s.histories, historyKeyOf(turn, agent), 0, func() (history, error) {
		turns, err := s.readHistory(t.ctx, turn, turn.Agent(agent).Shown)
		if err != nil {
			return history{}, err
		}
		return s.historyWith(turns), nil
	})
	return h
}

// historyWith returns a history with its lines, which a panel of one does not need.
func (s *shared) historyWith(turns []contextbuild.Exchange) history {
	h := history{turns: turns}
	if len(turns) > 0 && len(s.ids) > 1 {
		h.lines = contextbuild.HistoryLines(turns)
	}
	return h
}

// readHistory reads the selected part of a turn's history, all of it if shown is nil.
func (s *shared) readHistory(ctx context.Context, turn *effect.Turn, shown *policy.Selection) (turns []contextbuild.Exchange, err error) {
	last := math.MaxInt
	if shown != nil {
		last = shown.Turns
	}
	var repairs []string
	for exchange, err := range exchanges(ctx, s.cache, turn, last, func(line string) { repairs = append(repairs, line) }) {
		if err != nil {
			return nil, err
		}
		turns = append(turns, exchange)
	}
	slices.Reverse(turns)
	s.mu.Lock()
	s.repairs = repairs
	s.mu.Unlock()
	if shown == nil {
		return turns, nil
	}
	var summary contextbuild.Exchange
	if turn.Summary != nil && shown.Summary != nil {
		if summary, err = readSummary(ctx, s.cache, *turn.Summary); err != nil {
			return nil, err
		}
	}
	return contextbuild.Select(turns, summary, *shown), nil
}

// exchanges yields the turns of the history of a turn, newest first, but no more than the last ones. It reads each
// on demand, and records the repairs in them. A panel of one gets the messages between a question and its
// answer too, a larger panel only these two. An error ends it.
func exchanges(ctx context.Context, blobs Blobs, turn *effect.Turn, last int, note func(string)) iter.Seq2[contextbuild.Exchange, error] {
	return func(yield func(contextbuild.Exchange, error) bool) {
		if last == 0 {
			return
		}
		read := 0
		for past, err := range sessions.History(ctx, blobs, turn.History) {
			var exchange contextbuild.Exchange
			if err == nil {
				exchange, err = exchangeOf(ctx, blobs, turn, past, note)
			}
			if read++; !yield(exchange, err) || err != nil || read == last {
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

// Repairs describes the repairs in the history that calls have read: a line for each repaired turn, oldest
// first.
func (d *Doer) Repairs() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.shared == nil { // no call was made
		return nil
	}
	return d.shared.repairsRead()
}

func (s *shared) repairsRead() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := slices.Clone(s.repairs)
	slices.Reverse(lines)
	return lines
}
